// Compiles pipelines for the CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "core/pipeline.h"

namespace framelane::halide {

// Thread-safety: compile() from any thread; the code cache is the compiler's own.
class CpuCompiler final : public PipelineCompiler {
 public:
  struct Options {
    bool scheduled = true;       // false: plain loops, which the benchmarks compare with
    size_t most_pipelines = 64;  // kept at most, but for those in use
  };
  CpuCompiler();
  explicit CpuCompiler(Options options);
  ~CpuCompiler() override;

  [[nodiscard]] Result<std::unique_ptr<Pipeline>> compile(const PipelineRequest& request) override;
  [[nodiscard]] uint64_t compilations() const;  // so far; requests that shared code are not counted

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace framelane::halide
