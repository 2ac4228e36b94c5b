// What kernels take on a GPU that does nothing else, and what its memory gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "cuda/cuda_pipeline.h"
#include "cuda/device_cache.h"
#include "cuda/stream_cache.h"
#include "halide/cuda_compiler.h"

namespace framelane::bench {

// Thread-safety: a value; the GPU that it was compiled for outlives it.
struct CompiledKernels {
  std::unique_ptr<cuda::KernelProgram> program;
  double compile_ms = 0;  // Halide and the driver's linker
};

// Of one frame. Thread-safety: a value.
struct KernelTimes {
  uint64_t kernels = 0;
  double frame_us = 0;         // 0: shorter than the device's clock tells
  uint64_t traffic_bytes = 0;  // what is read of the frame, and the result: once each
  uint64_t stored_bytes = 0;   // what kernels keep for each other: written once and read once at least
};

// One GPU with all that compiled kernels need, but no frame path: nothing is copied while they run.
// Thread-safety: one thread, with the context current; compile() from any thread.
class OperationsGpu {
 public:
  // Afterwards the context is current.
  [[nodiscard]] static Result<std::unique_ptr<OperationsGpu>> open(const std::string& library, const std::string& id);

  [[nodiscard]] const cuda::Gpu& gpu() const noexcept { return context_->gpu(); }

  // Bytes per second, read and written together, of copies within the device's memory; 0: too fast to tell. The median
  // of several, after a fifth of a second of them. Takes 2 GiB of memory meanwhile, or a quarter of what is free.
  [[nodiscard]] Result<double> memory_rate();
  [[nodiscard]] Result<CompiledKernels> compile(const PipelineRequest& request);
  // The median of several windows, `seconds` together, of graphs of many frames. These lie in turn in so many places
  // that none is left in the device's cache when its turn comes, where memory and small frames allow that.
  [[nodiscard]] Result<KernelTimes> measure(cuda::KernelProgram& program, double seconds);

 private:
  struct Place;
  struct Captured;

  OperationsGpu(std::unique_ptr<cuda::Context> context, std::unique_ptr<cuda::DeviceCache> cache);
  [[nodiscard]] Status set_up();
  [[nodiscard]] Status done(cuda::CUresult result, const char* call) const;
  [[nodiscard]] Result<std::vector<Place>> take_places(const cuda::KernelProgram& program);
  [[nodiscard]] Status enqueue(cuda::KernelProgram& program, const Place& place);
  [[nodiscard]] Result<Captured> capture(cuda::KernelProgram& program, std::span<const Place> places, size_t frames);
  // Microseconds on the device from before the first to after the last.
  template <typename Launch>
  [[nodiscard]] Result<double> timed_us(size_t times, const Launch& launch);
  [[nodiscard]] Result<double> frame_us(const Captured& captured, double seconds);

  const std::unique_ptr<cuda::Context> context_;
  const cuda::Driver& driver_ = context_->driver();
  const std::unique_ptr<cuda::DeviceCache> cache_;
  cuda::Stream stream_;
  std::unique_ptr<cuda::StreamCache> memory_;
  cuda::Event begin_, end_;
  cuda::HostMemory host_{*context_};
  cuda::Watch watch_{*context_, 0};
  cuda::Bus bus_;
  halide::CudaCompiler compiler_{{*context_, *cache_, host_, watch_, bus_}, {}};
  std::map<PixelFormat, std::vector<std::byte>> noise_;  // of the size measured last
};

}  // namespace framelane::bench
