// What the bus carries: copies of one size both ways at once, without a gap.
#pragma once

#include <cstddef>

#include "core/error.h"
#include "cuda/driver.h"

namespace framelane::bench {

// Bytes per second each way, of as many copies up as down, through page-locked slots in turn, on two streams each way.
// The median of `windows` measurements of `window_ns`. The context is current; the calling thread spins meanwhile.
[[nodiscard]] Result<double> measure_bus(const cuda::Driver& driver, size_t copy_bytes, int windows, int64_t window_ns);

}  // namespace framelane::bench
