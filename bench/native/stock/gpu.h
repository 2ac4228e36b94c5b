// A GPU for Halide's own CUDA runtime, which is told only which context and which streams to use.
#pragma once

#include <Halide.h>

#include <memory>
#include <string>

#include "core/error.h"
#include "cuda/context.h"
#include "cuda/driver.h"
#include "cuda/gpu.h"

namespace framelane::bench {

// Handed to every call of compiled code. Thread-safety: one channel's.
struct StockCall : Halide::JITUserContext {
  cuda::CUstream stream = nullptr;  // nullptr: the default stream, as who sets nothing gets it
};

// The primary context as the driver makes it for who sets no flags. One in a process: Halide's handlers are the
// process's.
// Thread-safety: any thread once open.
class StockGpu {
 public:
  [[nodiscard]] static Result<std::unique_ptr<StockGpu>> open(const std::string& library, const std::string& id);
  ~StockGpu();  // ends Halide's runtime: nothing compiled may be called any more
  StockGpu(const StockGpu&) = delete;
  StockGpu& operator=(const StockGpu&) = delete;

  [[nodiscard]] const cuda::Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] const cuda::Gpu& gpu() const noexcept { return gpu_; }
  [[nodiscard]] Status make_current() const noexcept;

 private:
  StockGpu(const cuda::Driver& driver, cuda::Gpu gpu) : driver_(driver), gpu_(std::move(gpu)) {}

  const cuda::Driver& driver_;
  const cuda::Gpu gpu_;
};

// Host memory, page-locked as a grabber's buffers are. The context is current where it is made and destroyed.
// Thread-safety: a value with one owner.
class RegisteredMemory {
 public:
  [[nodiscard]] static Result<std::unique_ptr<RegisteredMemory>> create(const cuda::Driver& driver, size_t size_bytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  RegisteredMemory(const cuda::Driver& driver, std::byte* data, size_t size_bytes) noexcept
      : driver_(driver), data_(data), size_bytes_(size_bytes) {}

  const cuda::Driver& driver_;
  std::byte* const data_;
  const size_t size_bytes_;
};

}  // namespace framelane::bench
