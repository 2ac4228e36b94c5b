#include "native/bare_callable.h"

#include <Halide.h>

#include <list>
#include <vector>

#include "core/frame.h"
#include "halide/buffer.h"
#include "halide/compiled_code.h"
#include "halide/plan.h"
#include "native/timed_loop.h"

namespace framelane::bench {
namespace {

// As the channel's pipeline divides a frame.
constexpr int32_t kStripsPerThread = 3;

// Memory of a frame and its description. Thread-safety: as BareCallable.
struct Frame {
  Frame(const FrameFormat& format, bool flat)
      : bytes(format.bytes()), buffer({bytes.data(), format, MemoryKind::host}, flat) {}
  std::vector<std::byte> bytes;
  halide::FrameBuffer buffer;
};

}  // namespace

class BareCallable::State {
 public:
  State(halide::Plan made, std::shared_ptr<const halide::CompiledCode> compiled, uint32_t threads, uint32_t buffers)
      : plan(std::move(made)), code(std::move(compiled)), output(plan.output, plan.flat_output) {
    for (uint32_t i = 0; i < buffers; ++i) fill(inputs.emplace_back(plan.input, plan.flat_input));
    next = inputs.begin();
    numbers = {threads == 1 ? 1 : static_cast<int32_t>(threads) * kStripsPerThread,
               static_cast<int32_t>(plan.input.width), static_cast<int32_t>(plan.input.height)};
    for (const halide::Step& step : plan.steps) {
      for (const halide::LiveParameter& parameter : step.operation->live()) {
        parameters.push_back(static_cast<float>(parameter.value));
      }
    }
    // The order that halide::Graph states.
    arguments = {&context_pointer, nullptr};
    for (const int32_t& number : numbers) arguments.push_back(&number);
    for (const float& parameter : parameters) arguments.push_back(&parameter);
    arguments.push_back(output.buffer.get());
  }

  [[nodiscard]] int run_once() noexcept {
    arguments[1] = next->buffer.get();
    if (++next == inputs.end()) next = inputs.begin();
    return code->callable.call_argv_fast(arguments.size(), arguments.data());
  }

  halide::Plan plan;
  std::shared_ptr<const halide::CompiledCode> code;
  Frame output;
  std::list<Frame> inputs;
  std::list<Frame>::iterator next;
  std::vector<int32_t> numbers;
  std::vector<float> parameters;
  Halide::JITUserContext context;
  Halide::JITUserContext* context_pointer = &context;
  std::vector<const void*> arguments;

 private:
  static void fill(Frame& frame) {
    uint32_t value = 1;
    for (std::byte& byte : frame.bytes) byte = static_cast<std::byte>((value = value * 1664525U + 1013904223U) >> 24);
  }
};

BareCallable::BareCallable(std::unique_ptr<State> state) : state_(std::move(state)) {}
BareCallable::~BareCallable() = default;

Result<std::unique_ptr<BareCallable>> BareCallable::compile(const Workload& workload, uint32_t threads,
                                                            uint32_t buffers) {
  PipelineRequest request;
  request.channel = "bare";
  request.spec = workload.pipeline;
  request.inputs = {workload.format};
  request.threads = threads;
  Result<halide::Plan> plan = halide::make_plan(request);
  if (!plan) return plan.error();
  for (const halide::Step& step : plan.value().steps) {
    if (step.operation->resizes() || !step.operation->numbers().empty()) {
      return Error{ErrorCode::unsupported, "the bare loop knows no arguments of " + step.name};
    }
  }
  halide::CodeCache cache(halide::cpu_target(), halide::Schedule::tuned);
  Result<std::shared_ptr<const halide::CompiledCode>> code = cache.get(plan.value());
  if (!code) return code.error();
  Halide::Internal::JITSharedRuntime::set_num_threads(static_cast<int>(threads));
  auto state = std::make_unique<State>(plan.take(), code.take(), threads, buffers);
  return std::unique_ptr<BareCallable>(new BareCallable(std::move(state)));
}

Result<double> BareCallable::run(int64_t duration_ns) {
  return timed_loop(duration_ns, [this] { return state_->run_once() == 0; });
}

}  // namespace framelane::bench
