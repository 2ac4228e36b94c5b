#include "halide/cpu_compiler.h"

#include "halide/compiled_code.h"
#include "halide/cpu_pipeline.h"

namespace framelane::halide {
namespace {

constexpr uint32_t kMostLanes = 64, kMostThreads = 256;

}  // namespace

class CpuCompiler::State {
 public:
  explicit State(const Options& options)
      : cache(cpu_target(), options.scheduled ? Schedule::tuned : Schedule::none, options.most_pipelines) {}
  CodeCache cache;
};

CpuCompiler::CpuCompiler() : CpuCompiler(Options()) {}

CpuCompiler::CpuCompiler(Options options) : state_(std::make_unique<State>(options)) {}

CpuCompiler::~CpuCompiler() = default;

uint64_t CpuCompiler::compilations() const {
  return state_->cache.compilations();
}

Result<std::unique_ptr<Pipeline>> CpuCompiler::compile(const PipelineRequest& request) {
  if (request.lanes < 1 || request.lanes > kMostLanes)
    return Error{ErrorCode::invalid_argument, "in_flight must be from 1 to " + std::to_string(kMostLanes)};
  if (request.threads < 1 || request.threads > kMostThreads)
    return Error{ErrorCode::invalid_argument, "threads must be from 1 to " + std::to_string(kMostThreads)};
  Result<Plan> plan = make_plan(request);
  if (!plan) return plan.error();
  Result<std::shared_ptr<const CompiledCode>> code = state_->cache.get(plan.value());
  if (!code) return code.error();
  try {
    auto pipeline = std::make_unique<CpuPipeline>(plan.take(), code.take(), request.lanes, request.threads);
    if (Status status = pipeline->warm_up(); !status) return status.error();
    return std::unique_ptr<Pipeline>(std::move(pipeline));
  } catch (const std::exception& error) {  // no memory or no threads
    return Error{ErrorCode::out_of_memory, std::string("cannot set the pipeline up: ") + error.what()};
  }
}

}  // namespace framelane::halide
