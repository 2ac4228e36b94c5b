// Compiles pipelines for one GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/pipeline.h"
#include "cuda/cuda_pipeline.h"

namespace framelane::halide {

// Halide, then the driver's linker, then load, a first run and capture: all on the calling thread, and no other channel
// sees a frame later for it.
// Thread-safety: compile() from any thread; the code cache is the compiler's own.
class CudaCompiler final : public PipelineCompiler {
 public:
  struct Options {
    size_t most_pipelines = 64;   // kept at most, but for those in use
    std::string cache_directory;  // for machine code; empty: none is kept
  };
  // The parts outlive it, and it outlives its pipelines.
  CudaCompiler(const cuda::DeviceParts& parts, const Options& options);
  ~CudaCompiler() override;

  [[nodiscard]] Result<std::unique_ptr<Pipeline>> compile(const PipelineRequest& request) override;
  // The kernels alone, for who puts them on a stream of its own. The context is current afterwards.
  [[nodiscard]] Result<std::unique_ptr<cuda::KernelProgram>> compile_program(const PipelineRequest& request);
  [[nodiscard]] uint64_t compilations() const;  // so far; requests that shared code are not counted

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace framelane::halide
