// Gets a call its turn in the driver that all others pass by.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/frame.h"

namespace framelane::cuda {

// The driver's locks are not fair. Creating a stream or an event, capturing or page-locking needs to be alone, copies
// and launches do not, and as long as enough of them come they pass it by: with 64 unpaced channels on an H200, the
// creation of one event took 6.4 s, and one channel's copy with it. So a call that takes long closes the gate, and
// copies and launches wait in front of it; that is an atomic load while nobody is held up. Thread-safety: any thread.
// Owned by the driver's table.
class CallGate {
 public:
  struct Limits {
    int64_t held_up_after_ns = 300'000;   // a call has had bad luck when it takes longer than this
    int64_t longest_wait_ns = 2'000'000;  // in front of the gate, for each copy or launch: the call may have hung
  };
  // A place among those who are held up; kNone: there were too many, and the gate does not mind this one.
  using Place = size_t;
  static constexpr Place kNone = 16;

  CallGate() noexcept = default;
  explicit CallGate(Limits limits) noexcept : limits_(limits) {}

  // From here on nobody waits: for whoever measures what happens without a gate. Before the first call.
  void keep_open() noexcept { kept_open_ = true; }

  // Around a call that wants to be alone. Neither waits.
  [[nodiscard]] Place begin() noexcept;
  // Of a call that began at `since_ns`.
  [[nodiscard]] Place begin(MonotonicNs since_ns) noexcept;
  void end(Place place) noexcept;

  // Before a copy or a launch.
  void pass() const noexcept {
    if (under_way_.load(std::memory_order_relaxed) != 0) wait();
  }

 private:
  [[nodiscard]] bool closed(MonotonicNs now) const noexcept;
  void wait() const noexcept;

  const Limits limits_;
  bool kept_open_ = false;
  alignas(64) std::atomic<uint32_t> under_way_{0};
  std::array<std::atomic<MonotonicNs>, kNone> since_ns_{};
};

}  // namespace framelane::cuda
