// One row: so many threads that replay a trace on memory of one kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "cuda/context.h"
#include "native/cache/driver_pool.h"
#include "native/cache/traces.h"

namespace framelane::bench {

enum class MemoryMode : uint8_t { framelane, driver_pool, driver };
inline constexpr const char* kMemoryModeNames[] = {"framelane", "driver-pool", "driver"};

// Thread-safety: a value.
struct CacheRun {
  MemoryMode mode = MemoryMode::framelane;
  const Trace* trace = nullptr;
  size_t threads = 1;
  int64_t duration_ns = 0;
};

// One pair: a block is asked for and given back. Thread-safety: a value.
struct CacheRow {
  double pair_ns = 0;            // CPU time of the threads
  double slowest_thread_ns = 0;  // the same of the slowest one
  double pair_wall_ns = 0;       // from a pair's begin to its end, waiting for locks and for a core included
  uint64_t pairs = 0;
  uint64_t reserved_bytes = 0;          // taken from the driver; 0: not known
  std::optional<uint64_t> misses;       // since the first frame
  std::optional<double> hit_rate;       // 0..1, since the first frame
  std::optional<uint64_t> allocations;  // on the host, by our own code while it was measured
};

// `pool`: only for MemoryMode::driver_pool. Each thread has its stream and its blocks; all of them have the trace's
// most bytes in use at one moment before they are measured. Waits for the device; the context is current.
[[nodiscard]] Result<CacheRow> measure_row(const cuda::Context& context, const DriverPool* pool, const CacheRun& run);

}  // namespace framelane::bench
