// What compiled code calls on its way to the GPU, in place of Halide's own CUDA runtime. That one keeps modules and
// copies under locks that all channels share, and allocates on the host for each launch. These functions make exactly
// the calls of the driver that a frame needs: memory from the stream's cache, kernels on the lane's stream.
//
// Compiled code is linked against Pipeline::set_jit_externs() first and against Halide's runtime second, so that stock
// Halide takes them: their signatures are those of HalideRuntime.h and HalideRuntimeCuda.h.
#pragma once

#include <Halide.h>

#include <map>
#include <optional>
#include <string>

#include "core/error.h"
#include "cuda/kernel_program.h"
#include "halide/frame_context.h"
#include "halide/kernel_module.h"

namespace framelane::halide {

// Handed to every call of compiled code: where this frame's kernels go, and what went wrong.
// Thread-safety: owned by one channel; the call's thread.
class LaunchContext final : public FrameContext {
 public:
  using FrameContext::FrameContext;

  // For the next call. Both outlive it; the place's context is current.
  void launch_at(const cuda::LaunchPlace& place, const KernelModule& kernels) noexcept;
  // The next call only hands its PTX over and ends with an error.
  void show_ptx_in(std::string& ptx) noexcept;
  // Of the last call, which returned `result`.
  [[nodiscard]] Status outcome(int result) const;
  // Device memory that the last call took, in bytes: what it gave back and took again counts again.
  [[nodiscard]] uint64_t stored_bytes() const noexcept { return stored_bytes_; }

 private:
  friend struct LaunchFunctions;
  int fail(Error error) noexcept;

  const cuda::LaunchPlace* place_ = nullptr;
  const KernelModule* kernels_ = nullptr;
  std::string* ptx_ = nullptr;
  size_t next_kernel_ = 0;
  uint64_t stored_bytes_ = 0;
  std::optional<Error> failure_;
};

// By the names under which compiled code looks for them.
[[nodiscard]] std::map<std::string, Halide::JITExtern> launch_functions();

// What marks a halide_buffer_t as device memory; lives for ever.
[[nodiscard]] const halide_device_interface_t* launch_interface() noexcept;

}  // namespace framelane::halide
