#include "halide/call_arguments.h"

#include "halide/operations/arguments.h"

namespace framelane::halide {

CallArguments::CallArguments(const Plan& plan, uint32_t tasks) : plan_(plan) {
  numbers_ = {static_cast<int32_t>(tasks), 0, 0};
  for (const Step& step : plan_.steps) {
    if (step.operation->resizes()) numbers_.insert(numbers_.end(), 2, 0);
    const std::span<const int32_t> numbers = step.operation->numbers();
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
    for (const LiveParameter& live : step.operation->live()) {
      const ParameterInfo info{step.name + "." + live.name, live.value, live.minimum, live.maximum};
      parameters_.push_back({info, static_cast<float>(live.value)});
    }
  }
  // The context and the two buffers are put in for each frame.
  arguments_.assign(2, nullptr);
  for (const int32_t& number : numbers_) arguments_.push_back(&number);
  for (const Parameter& parameter : parameters_) arguments_.push_back(&parameter.value);
  arguments_.push_back(nullptr);
}

std::span<const void* const> CallArguments::of_frame(Halide::JITUserContext* const* context, Extent extent,
                                                     const halide_buffer_t* input,
                                                     const halide_buffer_t* output) noexcept {
  numbers_[1] = extent.width;
  numbers_[2] = extent.height;
  size_t at = 3;
  for (const Step& step : plan_.steps) {
    extent = step.operation->extent(extent);
    if (step.operation->resizes()) {
      numbers_[at++] = extent.width;
      numbers_[at++] = extent.height;
    }
    at += step.operation->numbers().size();
  }
  arguments_[0] = context;
  arguments_[1] = input;
  arguments_.back() = output;
  return arguments_;
}

std::vector<ParameterInfo> CallArguments::parameters() const {
  std::vector<ParameterInfo> infos;
  for (const Parameter& parameter : parameters_) infos.push_back(parameter.info);
  return infos;
}

Status CallArguments::set_parameter(const std::string& name, double value) {
  for (Parameter& parameter : parameters_) {
    if (parameter.info.name != name) continue;
    if (!(value >= parameter.info.minimum && value <= parameter.info.maximum))
      return Error{ErrorCode::invalid_argument, "`" + name + "` must be from " + number_text(parameter.info.minimum) +
                                                    " to " + number_text(parameter.info.maximum)};
    parameter.info.value = value;
    parameter.value = static_cast<float>(value);
    return {};
  }
  return Error{ErrorCode::invalid_argument, "the pipeline has no parameter `" + name + "`"};
}

}  // namespace framelane::halide
