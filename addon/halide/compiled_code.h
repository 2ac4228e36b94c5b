// Machine code for pipelines, each distinct one compiled once in a process.
#pragma once

#include <Halide.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/error.h"
#include "halide/graph.h"
#include "halide/kernel_module.h"
#include "halide/plan.h"

namespace framelane::halide {

// What code is compiled for here: this machine's CPU. Assertions stay: they cost nothing measurable and check every
// access of a frame against its buffer once.
[[nodiscard]] Halide::Target cpu_target();
// The same with kernels for a GPU of this compute capability (90: 9.0) or a newer one.
[[nodiscard]] Halide::Target cuda_target(int capability);

// Thread-safety: any number of channels may call `callable` at once, each with its own context.
struct CompiledCode {
  std::unique_ptr<const KernelModule> kernels;  // on a GPU
  Halide::Callable callable;
};

// Keeps code that nobody uses any more for the next one who asks, a bounded number of pieces.
// Thread-safety: get() from any thread. Requests for code that is being compiled wait for it.
class CodeCache {
 public:
  // Gets from the code what runs on the GPU.
  using LoadKernels = std::function<Result<std::unique_ptr<const KernelModule>>(const Plan&, const Halide::Callable&)>;
  CodeCache(Halide::Target target, Schedule schedule, size_t most_kept = 64, LoadKernels load_kernels = {});
  [[nodiscard]] Result<std::shared_ptr<const CompiledCode>> get(const Plan& plan);
  [[nodiscard]] uint64_t compilations() const;

 private:
  struct Entry;
  [[nodiscard]] Result<std::shared_ptr<const CompiledCode>> compile(const Plan& plan) const noexcept;

  void forget_unused();  // with the lock held

  Halide::Target target_;
  Schedule schedule_;
  size_t most_kept_;
  LoadKernels load_kernels_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  uint64_t compilations_ = 0;
  uint64_t requests_ = 0;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace framelane::halide
