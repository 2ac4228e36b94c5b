#pragma once

#include <chrono>
#include <thread>

#include "core/frame.h"

namespace framelane::fakes {

// Polls what has no event of its own; false after a minute.
template <typename Predicate>
bool eventually(Predicate holds) {
  const MonotonicNs until = monotonic_now_ns() + 60'000'000'000;
  while (!holds()) {
    if (monotonic_now_ns() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace framelane::fakes
