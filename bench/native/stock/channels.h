// Channels of stock Halide side by side, in one of the ways in which its users run it.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "native/stock/channel.h"

namespace framelane::bench {

// stock: all on the default stream; streams: each on its own; reuse: so, and Halide keeps device memory that was freed.
enum class StockMode : uint8_t { stock, streams, reuse };
inline constexpr const char* kStockModeNames[] = {"stock", "stock-streams", "stock-reuse"};

// Thread-safety: a value.
struct StockRun {
  StockMode mode = StockMode::stock;
  uint32_t channels = 1;
  double pace_fps = 0;  // 0: free-running
  bool stagger = true;  // paced channels spread their phases over a period
  double seconds = 4;   // of the measurement, without warming up
  bool compare = true;  // 1 in 100 frames with what the CPU makes of it
};

// Thread-safety: a value.
struct StockRow {
  double fps = 0;  // of all channels
  double p50_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
  uint64_t frames = 0, lost = 0, compared = 0;
  int worst_difference = 0;  // grey levels
  double cores = 0;          // CPU time of the process by wall-clock time
  double allocs = 0, frees = 0, module_loads = 0, device_syncs = 0, launches = 0;  // calls of the driver by frame
};

[[nodiscard]] Result<StockRow> measure_stock(const StockGpu& gpu, const StockCode& code, const Pictures& pictures,
                                             const StockRun& run);

}  // namespace framelane::bench
