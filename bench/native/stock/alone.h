// What a frame's steps take when nothing else is on the GPU, one after the other.
#pragma once

#include <cstdint>

#include "core/error.h"
#include "native/stock/channel.h"

namespace framelane::bench {

// Medians, by the device's own clock: from the moment at which it gets to the step until the step is done.
// Thread-safety: a value.
struct AloneTimes {
  double upload_us = 0;
  double kernels_us = 0;           // as one captured graph; 0: the driver captured none
  double kernels_launched_us = 0;  // one by one, as Halide launches them
  double download_us = 0;
};

// So many frames, each waited for after each step. `period_ns`: from one frame's beginning to the next one's; 0: at
// once. Halide keeps device memory that was freed. The context is current.
[[nodiscard]] Result<AloneTimes> measure_alone(const StockGpu& gpu, const StockCode& code, const Pictures& pictures,
                                               int frames, int64_t period_ns);

}  // namespace framelane::bench
