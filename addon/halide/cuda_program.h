// The kernels of one channel's pipeline on a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/kernel_program.h"
#include "halide/arena.h"
#include "halide/call_arguments.h"
#include "halide/compiled_code.h"
#include "halide/launch_runtime.h"
#include "halide/plan.h"
#include "halide/thread_pool.h"

namespace framelane::halide {

// The PTX that compiled code carries: it is called once and stopped before its first kernel. No device is needed.
[[nodiscard]] Result<std::string> ptx_of(const Plan& plan, const Halide::Callable& callable);

// One call of compiled code: its arguments and what its host part needs. Thread-safety: owned by one channel.
class KernelCall {
 public:
  explicit KernelCall(const Plan& plan) : plan_(plan), context_(arena_, pool_), arguments_(plan, 1) {}  // outlives it

  [[nodiscard]] int run(const Halide::Callable& callable, const cuda::DeviceFrame& in,
                        const cuda::DeviceFrame& out) noexcept;
  [[nodiscard]] LaunchContext& context() noexcept { return context_; }
  [[nodiscard]] const LaunchContext& context() const noexcept { return context_; }
  [[nodiscard]] CallArguments& arguments() noexcept { return arguments_; }
  [[nodiscard]] const CallArguments& arguments() const noexcept { return arguments_; }

 private:
  const Plan& plan_;
  Arena arena_{1};
  ThreadPool pool_{1};
  LaunchContext context_;
  CallArguments arguments_;
};

// Thread-safety: as KernelProgram says. The compiled code is shared with other channels, all else is its own.
class CudaProgram final : public cuda::KernelProgram {
 public:
  CudaProgram(Plan plan, std::shared_ptr<const CompiledCode> code);

  [[nodiscard]] std::span<const FrameFormat> inputs() const noexcept override { return {&plan_.input, 1}; }
  [[nodiscard]] std::span<const FrameFormat> outputs() const noexcept override { return {&plan_.output, 1}; }
  [[nodiscard]] FrameFormat output_for(size_t index, std::span<const FrameFormat> inputs) const noexcept override;
  [[nodiscard]] cuda::Region reads(size_t index, std::span<const FrameFormat> inputs) const noexcept override;
  // No lock, no host allocation, no call of the driver but launches, and what a miss of the stream's cache needs.
  [[nodiscard]] Status enqueue(const cuda::LaunchPlace& place, std::span<const cuda::DeviceFrame> inputs,
                               std::span<const cuda::DeviceFrame> outputs) noexcept override;
  [[nodiscard]] uint64_t stored_bytes() const noexcept override { return call_.context().stored_bytes(); }
  [[nodiscard]] std::vector<ParameterInfo> parameters() const override { return call_.arguments().parameters(); }
  Status set_parameter(const std::string& name, double value) noexcept override {
    return call_.arguments().set_parameter(name, value);
  }

 private:
  Plan plan_;
  std::shared_ptr<const CompiledCode> code_;
  KernelCall call_;
};

}  // namespace framelane::halide
