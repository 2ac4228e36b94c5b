// The machine code of one compiled pipeline on one GPU.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "cuda/cubin_cache.h"
#include "cuda/driver.h"

namespace framelane::halide {

// The GPU that code is made for. Thread-safety: immutable; what it refers to outlives every module.
struct KernelTarget {
  const cuda::Driver& driver;
  cuda::CUcontext context;
  std::string architecture;  // "sm_90"
  const cuda::CubinCache& cache;
};

// Thread-safety: immutable; any number of channels may launch its kernels at once.
class KernelModule {
 public:
  // On a compile thread with the context current: links the PTX off to the side (some 100 ms; none when the cache has
  // its cubin), loads the cubin, looks up every kernel. Disturbs nobody who uses the device.
  [[nodiscard]] static Result<std::unique_ptr<const KernelModule>> load(const KernelTarget& target,
                                                                        const std::string& ptx);
  ~KernelModule();  // unloads; on any thread, once no kernel of it runs
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  // nullptr: there is none of this name. `at`: where it probably is, for kernels are called in order; left behind it.
  [[nodiscard]] cuda::CUfunction find(std::string_view name, size_t& at) const noexcept;
  [[nodiscard]] const cuda::Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] size_t kernels() const noexcept { return kernels_.size(); }

 private:
  struct Kernel {
    std::string name;
    cuda::CUfunction function;
  };

  KernelModule(const KernelTarget& target, cuda::CUmodule module)
      : driver_(target.driver), context_(target.context), module_(module) {}
  [[nodiscard]] Status add_kernel(const std::string& name, const std::string& in_module);

  const cuda::Driver& driver_;
  const cuda::CUcontext context_;
  const cuda::CUmodule module_;
  std::vector<Kernel> kernels_;
};

}  // namespace framelane::halide
