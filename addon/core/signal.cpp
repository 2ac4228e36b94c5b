#include "core/signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace framelane {

bool Signal::sleep(uint32_t epoch, MonotonicNs deadline_ns) noexcept {
  // FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time; FUTEX_WAIT takes a relative one.
  timespec until{};
  if (deadline_ns != kNoDeadline) {
    const MonotonicNs clamped = deadline_ns < 0 ? 0 : deadline_ns;
    until.tv_sec = clamped / 1'000'000'000;
    until.tv_nsec = clamped % 1'000'000'000;
  }
  const long rc = syscall(SYS_futex, &epoch_, FUTEX_WAIT_BITSET_PRIVATE, epoch,
                          deadline_ns == kNoDeadline ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
  return rc == 0 || errno != ETIMEDOUT;
}

void Signal::wake_all() noexcept {
  syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace framelane
