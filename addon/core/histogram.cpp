#include "core/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace framelane::stats {
namespace {

constexpr unsigned kSubBits = std::countr_zero(kHistogramSubBuckets);
static_assert(std::has_single_bit(kHistogramSubBuckets));

// One writer: a load and a store are cheaper than a locked addition.
void add(Cell& cell, uint64_t amount) noexcept {
  cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace

size_t bin_of(int64_t duration_ns) noexcept {
  const uint64_t value = duration_ns > 0 ? static_cast<uint64_t>(duration_ns) : 0;
  if (value < kHistogramSubBuckets) return value;
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
  const size_t within = (value >> (exponent - kSubBits)) & (kHistogramSubBuckets - 1);
  return std::min((exponent - kSubBits + 1) * kHistogramSubBuckets + within, kHistogramBins - 1);
}

int64_t bin_start_ns(size_t bin) noexcept {
  if (bin < kHistogramSubBuckets) return static_cast<int64_t>(bin);
  const size_t octave = bin / kHistogramSubBuckets - 1;
  return static_cast<int64_t>((kHistogramSubBuckets + bin % kHistogramSubBuckets) << octave);
}

void record(Histogram& histogram, int64_t duration_ns) noexcept {
  const uint64_t value = duration_ns > 0 ? static_cast<uint64_t>(duration_ns) : 0;
  add(histogram.bins[bin_of(duration_ns)], 1);
  add(histogram.sum_ns, value);
  if (value > histogram.max_ns.load(std::memory_order_relaxed)) {
    histogram.max_ns.store(value, std::memory_order_relaxed);
  }
  add(histogram.count, 1);
}

int64_t quantile_ns(const Histogram& histogram, double quantile) noexcept {
  // The bins, not `count`, say how many: a writer may be between the two, or have died there.
  std::array<uint64_t, kHistogramBins> bins;
  uint64_t total = 0;
  for (size_t i = 0; i < kHistogramBins; ++i) {
    bins[i] = histogram.bins[i].load(std::memory_order_relaxed);
    total += bins[i];
  }
  if (total == 0) return 0;
  const double wanted = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(total);
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(wanted)));
  uint64_t below = 0;
  for (size_t i = 0; i < kHistogramBins; ++i) {
    below += bins[i];
    if (below < rank) continue;
    const int64_t middle = (bin_start_ns(i) + bin_start_ns(i + 1)) / 2;
    const auto largest = static_cast<int64_t>(histogram.max_ns.load(std::memory_order_relaxed));
    return largest >= bin_start_ns(i) ? std::min(middle, largest) : middle;
  }
  return static_cast<int64_t>(histogram.max_ns.load(std::memory_order_relaxed));
}

}  // namespace framelane::stats
