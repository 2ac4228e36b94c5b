// Writing and reading the duration histograms of the statistics block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/stats_layout.h"

namespace framelane::stats {

// The bin of a duration; a negative one counts as 0, one beyond the last bin as the last.
[[nodiscard]] size_t bin_of(int64_t duration_ns) noexcept;

// The bin's lowest duration.
[[nodiscard]] int64_t bin_start_ns(size_t bin) noexcept;

// Thread-safety: one writer per histogram.
void record(Histogram& histogram, int64_t duration_ns) noexcept;

// The duration below which the share `quantile` (0..1) of all records lies, to 3.2 %; 0 when there are none.
// Thread-safety: any thread; while records arrive the answer is that of some moment in between.
[[nodiscard]] int64_t quantile_ns(const Histogram& histogram, double quantile) noexcept;

}  // namespace framelane::stats
