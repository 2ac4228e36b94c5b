// When a frame is due: one clock for every source that has no camera behind it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/frame.h"
#include "core/signal.h"
#include "io/phase.h"

namespace framelane::io {

enum class Pace : uint8_t { realtime, max };

// Time of frame `index` after the first at `fps`. Computed anew for each frame, so nothing drifts.
[[nodiscard]] MonotonicNs frame_time_ns(uint64_t index, double fps) noexcept;

// The last whole frame period that has begun after `elapsed_ns`; the inverse of frame_time_ns().
[[nodiscard]] uint64_t frame_index_at(MonotonicNs elapsed_ns, double fps) noexcept;

// A stop that wakes whoever sleeps until an absolute time. Nothing here allocates or locks.
// Thread-safety: request(), requested(): any thread; rearm(): while nobody sleeps; sleep_until(): one thread.
class StopFlag {
 public:
  void request() noexcept {
    requested_.store(true, std::memory_order_release);
    signal_.notify();
  }
  void rearm() noexcept { requested_.store(false, std::memory_order_release); }
  [[nodiscard]] bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }

  // CLOCK_MONOTONIC, absolute. False: the stop came.
  bool sleep_until(MonotonicNs due_ns) noexcept {
    return !signal_.wait_until(due_ns, [this] { return requested(); });
  }

 private:
  std::atomic<bool> requested_{false};
  Signal signal_;
};

// Plays media time against the monotonic clock. A short delay is caught up with; after one of more than
// `most_late_ns` the clock is moved instead, so that a suspended machine does not race through the film; it stays in
// its phase then.
// Thread-safety: owned by the delivering thread.
class PlayClock {
 public:
  explicit PlayClock(MonotonicNs most_late_ns) noexcept : most_late_ns_(most_late_ns) {}

  // The next frame, whatever its media time, is due at the next moment of `phase`; without one, or where no rate is
  // known (0), at once.
  void restart(double fps, const std::optional<Phase>& phase) noexcept {
    running_ = false;
    fps_ = fps;
    phase_ = phase;
  }

  // When the frame is due, asked at `now_ns`; where that is longer ago than the clock forgives, it is moved first.
  [[nodiscard]] MonotonicNs due_ns(MonotonicNs now_ns, MonotonicNs media_ns) noexcept;

  // Sleeps until the frame is due. False: the stop came.
  bool wait(MonotonicNs media_ns, StopFlag& stop) noexcept;

 private:
  const MonotonicNs most_late_ns_;
  bool running_ = false;
  double fps_ = 0;
  std::optional<Phase> phase_;
  MonotonicNs origin_ns_ = 0;  // when media time 0 was or would have been
};

}  // namespace framelane::io
