#include "halide/plan.h"

#include <limits>
#include <map>

#include "halide/operations/arguments.h"

namespace framelane::halide {
namespace {

// Halide addresses a buffer with 32 bits, and what lies between operations is float32.
constexpr uint64_t kMostSamples = std::numeric_limits<int32_t>::max() / sizeof(float);

Status check_size(const std::string& what, Extent extent, uint8_t samples) {
  const uint64_t wanted = uint64_t(extent.width) * uint64_t(extent.height) * samples;
  if (wanted <= kMostSamples) return {};
  return pipeline_invalid(what + " of " + std::to_string(extent.width) + "x" + std::to_string(extent.height) + " has " +
                          std::to_string(wanted) + " samples; the limit is " + std::to_string(kMostSamples));
}

std::string place(size_t index, const std::string& name) {
  return "pipeline[" + std::to_string(index) + "] " + name + ": ";
}

Result<Step> make_step(size_t index, const OperationSpec& spec, const OperationInput& input) {
  const MakeOperation make = find_operation(spec.name);
  if (make == nullptr) return pipeline_invalid(place(index, spec.name) + "there is no operation of this name");
  Result<std::unique_ptr<Operation>> made = make(spec, input);
  if (!made) return Error{made.error().code, place(index, spec.name) + made.error().message};
  return Step{spec.name, made.take(), input};
}

Status check_input(const PipelineRequest& request) {
  if (request.inputs.size() != 1)
    return Error{ErrorCode::unsupported,
                 "a list of operations takes one input, not " + std::to_string(request.inputs.size())};
  const FrameFormat& in = request.inputs[0];
  if (in.width == 0 || in.height == 0) return pipeline_invalid("the input " + in.describe() + " has no pixels");
  if (in.width > uint32_t{std::numeric_limits<int32_t>::max()} ||
      in.height > uint32_t{std::numeric_limits<int32_t>::max()})
    return pipeline_invalid("the input " + in.describe() + " is too large");
  return check_size("the input", {int32_t(in.width), int32_t(in.height)}, info(in.pixel).samples);
}

}  // namespace

Result<Plan> make_plan(const PipelineRequest& request) {
  if (Status status = check_input(request); !status) return status.error();
  Plan plan;
  plan.input = request.inputs[0];
  const PixelFormatInfo& pixel = info(plan.input.pixel);
  OperationInput at{{int32_t(plan.input.width), int32_t(plan.input.height)}, pixel.type, pixel.samples, pixel.type};
  plan.flat_input = plan.flat_output = pixel.samples > 1 && pixel.arrangement == Arrangement::interleaved;
  std::map<std::string, int> seen;
  for (size_t i = 0; i < request.spec.operations.size(); ++i) {
    Result<Step> made = make_step(i, request.spec.operations[i], at);
    if (!made) return made.error();
    Step step = made.take();
    const int nth = ++seen[step.name];
    at.largest = step.operation->extent(at.largest);
    at.type = step.operation->type(at.type);
    if (Status status = check_size(place(i, step.name) + "an output", at.largest, at.samples); !status)
      return status.error();
    if (nth > 1) step.name += "#" + std::to_string(nth);
    plan.flat_output = plan.flat_output && step.operation->keeps_flat();
    plan.steps.push_back(std::move(step));
  }
  plan.output = FrameFormat::packed(*pixel_format_of(at.type, pixel.samples, pixel.arrangement),
                                    uint32_t(at.largest.width), uint32_t(at.largest.height));
  return plan;
}

std::string Plan::key() const {
  std::string key(info(input.pixel).name);
  for (const Step& step : steps) key += " | " + step.operation->key();
  return key;
}

Extent Plan::extent(Extent in) const noexcept {
  for (const Step& step : steps) in = step.operation->extent(in);
  return in;
}

namespace {

Area read_by(std::span<const Step> steps, Extent in) noexcept {
  if (steps.empty()) return whole_of(in);
  const Operation& first = *steps.front().operation;
  return first.reads(read_by(steps.subspan(1), first.extent(in)), in);
}

}  // namespace

Area Plan::reads(Extent in) const noexcept {
  return read_by(steps, in);
}

}  // namespace framelane::halide
