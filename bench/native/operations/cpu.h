// One operation's frame on the CPU.
#pragma once

#include <cstdint>

#include "core/error.h"
#include "core/pipeline.h"

namespace framelane::bench {

// Thread-safety: a value.
struct CpuTimes {
  double compile_ms = 0;
  double frame_ms = 0;  // the fastest of several: other load only adds
};

// Compiles and runs frames of noise for so long, 40 at most. `request` has one input.
[[nodiscard]] Result<CpuTimes> measure_on_cpu(PipelineCompiler& compiler, const PipelineRequest& request,
                                              int64_t enough_ns);

[[nodiscard]] double milliseconds(int64_t ns);

}  // namespace framelane::bench
