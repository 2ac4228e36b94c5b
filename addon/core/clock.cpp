#include <ctime>

#include "core/frame.h"

namespace framelane {

MonotonicNs monotonic_now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return MonotonicNs{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace framelane
