// Frames per second of a loop that lasts about so long.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/frame.h"

namespace framelane::bench {

// `run_once` returns false when a frame failed. The clock is read once in 5 ms, not once a frame.
template <typename RunOnce>
[[nodiscard]] Result<double> timed_loop(int64_t duration_ns, RunOnce&& run_once) {
  constexpr int64_t kBatchNs = 5'000'000;
  const MonotonicNs begin = monotonic_now_ns();
  MonotonicNs now = begin;
  uint64_t frames = 0, batch = 1;
  while (now - begin < duration_ns) {
    for (uint64_t i = 0; i < batch; ++i) {
      if (!run_once()) return Error{ErrorCode::pipeline_failed, "a frame of the bare loop failed"};
    }
    frames += batch;
    now = monotonic_now_ns();
    const int64_t per_frame_ns = std::max<int64_t>(1, (now - begin) / static_cast<int64_t>(frames));
    batch = std::max<uint64_t>(1, static_cast<uint64_t>(kBatchNs / per_frame_ns));
  }
  return static_cast<double>(frames) * 1e9 / static_cast<double>(now - begin);
}

}  // namespace framelane::bench
