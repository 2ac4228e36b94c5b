// Waiting without a lock: a futex that costs no system call while nobody sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "core/frame.h"

namespace framelane {

inline constexpr MonotonicNs kNoDeadline = std::numeric_limits<MonotonicNs>::max();

// Thread-safety: owned by whoever declares it; notify() and wait_until() from any thread.
// No wake-up is lost: who changes what a predicate reads, then calls notify(), is seen by every waiter.
class Signal {
 public:
  Signal() = default;
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void notify() noexcept {
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_seq_cst) != 0) wake_all();
  }

  // Sleeps until `predicate()` is true or CLOCK_MONOTONIC reaches the deadline; what the predicate last said.
  template <typename Predicate>
  bool wait_until(MonotonicNs deadline_ns, Predicate&& predicate) noexcept {
    if (predicate()) return true;
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    bool holds = false;
    for (bool in_time = true;;) {
      const uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
      holds = predicate();
      if (holds || !in_time) break;
      in_time = sleep(epoch, deadline_ns);
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return holds;
  }

 private:
  // False when the deadline has passed.
  [[nodiscard]] bool sleep(uint32_t epoch, MonotonicNs deadline_ns) noexcept;
  void wake_all() noexcept;

  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> waiters_{0};
};

}  // namespace framelane
