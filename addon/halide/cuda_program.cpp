#include "halide/cuda_program.h"

#include "halide/buffer.h"

namespace framelane::halide {

int KernelCall::run(const Halide::Callable& callable, const cuda::DeviceFrame& in,
                    const cuda::DeviceFrame& out) noexcept {
  const FrameBuffer input(in.format, plan_.flat_input, launch_interface(), in.data);
  const FrameBuffer output(out.format, plan_.flat_output, launch_interface(), out.data);
  Halide::JITUserContext* const context = &context_;
  const Extent extent{int32_t(in.format.width), int32_t(in.format.height)};
  const std::span<const void* const> arguments = arguments_.of_frame(&context, extent, input.get(), output.get());
  return callable.call_argv_fast(arguments.size(), arguments.data());
}

Result<std::string> ptx_of(const Plan& plan, const Halide::Callable& callable) {
  // It does not come to a kernel: the addresses are never used.
  constexpr cuda::CUdeviceptr kNowhere = 4096;
  std::string ptx;
  KernelCall call(plan);
  call.context().show_ptx_in(ptx);
  const int result = call.run(callable, {kNowhere, plan.input}, {kNowhere, plan.output});
  if (!ptx.empty()) return ptx;
  if (Status status = call.context().outcome(result); !status) return status.error();
  return Error{ErrorCode::internal, "the compiled code has no kernels"};
}

CudaProgram::CudaProgram(Plan plan, std::shared_ptr<const CompiledCode> code)
    : plan_(std::move(plan)), code_(std::move(code)), call_(plan_) {}

FrameFormat CudaProgram::output_for(size_t, std::span<const FrameFormat> inputs) const noexcept {
  if (inputs.empty()) return plan_.output;
  const Extent extent = plan_.extent({int32_t(inputs[0].width), int32_t(inputs[0].height)});
  return FrameFormat::packed(plan_.output.pixel, uint32_t(extent.width), uint32_t(extent.height));
}

cuda::Region CudaProgram::reads(size_t, std::span<const FrameFormat> inputs) const noexcept {
  const FrameFormat& in = inputs.empty() ? plan_.input : inputs[0];
  const Area area = plan_.reads({int32_t(in.width), int32_t(in.height)});
  return {uint32_t(area.x), uint32_t(area.y), uint32_t(area.width), uint32_t(area.height)};
}

Status CudaProgram::enqueue(const cuda::LaunchPlace& place, std::span<const cuda::DeviceFrame> inputs,
                            std::span<const cuda::DeviceFrame> outputs) noexcept {
  if (inputs.size() != 1 || outputs.size() != 1)
    return Error{ErrorCode::pipeline_failed, "a frame has one input and one output here"};
  call_.context().launch_at(place, *code_->kernels);
  const int result = call_.run(code_->callable, inputs[0], outputs[0]);
  return call_.context().outcome(result);
}

}  // namespace framelane::halide
