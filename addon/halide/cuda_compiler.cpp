#include "halide/cuda_compiler.h"

#include "halide/compiled_code.h"
#include "halide/cuda_program.h"

namespace framelane::halide {

class CudaCompiler::State {
 public:
  State(const cuda::DeviceParts& lent, const Options& options)
      : parts(lent),
        cubins({options.cache_directory}),
        target{lent.context.driver(), lent.context.handle(), lent.context.gpu().info.architecture, cubins},
        codes(cuda_target(lent.context.gpu().capability), Schedule::tuned, options.most_pipelines,
              [this](const Plan& plan, const Halide::Callable& code) { return load(plan, code); }) {}

  const cuda::DeviceParts parts;
  const cuda::CubinCache cubins;
  const KernelTarget target;
  CodeCache codes;

 private:
  Result<std::unique_ptr<const KernelModule>> load(const Plan& plan, const Halide::Callable& code) const {
    Result<std::string> ptx = ptx_of(plan, code);
    if (!ptx) return ptx.error();
    if (Status current = parts.context.make_current(); !current) return current.error();
    return KernelModule::load(target, ptx.value());
  }
};

CudaCompiler::CudaCompiler(const cuda::DeviceParts& parts, const Options& options)
    : state_(std::make_unique<State>(parts, options)) {}

CudaCompiler::~CudaCompiler() = default;

uint64_t CudaCompiler::compilations() const {
  return state_->codes.compilations();
}

Result<std::unique_ptr<cuda::KernelProgram>> CudaCompiler::compile_program(const PipelineRequest& request) {
  Result<Plan> plan = make_plan(request);
  if (!plan) return plan.error();
  if (Status current = state_->parts.context.make_current(); !current) return current.error();
  Result<std::shared_ptr<const CompiledCode>> code = state_->codes.get(plan.value());
  if (!code) return code.error();
  return std::unique_ptr<cuda::KernelProgram>(std::make_unique<CudaProgram>(plan.take(), code.take()));
}

Result<std::unique_ptr<Pipeline>> CudaCompiler::compile(const PipelineRequest& request) {
  try {
    Result<std::unique_ptr<cuda::KernelProgram>> program = compile_program(request);
    Result<std::unique_ptr<Pipeline>> pipeline =
        program ? cuda::CudaPipeline::open(state_->parts, program.take(), request) : program.error();
    if (!pipeline && pipeline.error().code == ErrorCode::device_lost) state_->parts.watch.report(pipeline.error());
    return pipeline;
  } catch (const std::exception& error) {  // no memory or no threads
    return Error{ErrorCode::out_of_memory, std::string("cannot set the pipeline up: ") + error.what()};
  }
}

}  // namespace framelane::halide
