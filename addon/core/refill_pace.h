// How a source that is always ahead of its worker waits for slots.
#pragma once

#include <cstdint>

#include "core/frame.h"

namespace framelane {

// Waking a sleeping thread costs the waker a system call and, in a virtual machine, several microseconds: as much as
// a third of a small frame. So with fast frames the source sleeps by the clock, for the time in which the worker has
// lately emptied a third of the ring, or less where that was too long, and the worker never wakes it. With slow frames
// the worker does: the source then sleeps as long as it can.
// Thread-safety: the source's thread.
class RefillPace {
 public:
  // No slot is free. The time to sleep; 0: let the worker wake this thread.
  [[nodiscard]] int64_t nap_ns(MonotonicNs now_ns, uint64_t released, uint32_t slots) noexcept;

 private:
  MonotonicNs last_ns_ = 0;
  uint64_t last_released_ = 0;
  int64_t share_ = 0;  // of the time that a frame takes, in 1/256: how long to sleep
};

}  // namespace framelane
