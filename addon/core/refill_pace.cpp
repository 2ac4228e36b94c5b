#include "core/refill_pace.h"

#include <sys/prctl.h>

#include <algorithm>

namespace framelane {
namespace {

// Beyond this a wake-up is no cost to speak of.
constexpr int64_t kLongestNapNs = 500'000;

// The kernel may prolong a sleep by the thread's slack, 50 us unless told otherwise: a whole ring of small frames.
constexpr unsigned long kSlackNs = 1'000;

constexpr int64_t kWhole = 256;  // one frame
constexpr int64_t kLeast = kWhole / 4;

}  // namespace

// A ring that ran empty made the worker sleep, which costs more than many a nap too short: the share is halved at once
// and grows again by a frame in 256 naps.
int64_t RefillPace::nap_ns(MonotonicNs now_ns, uint64_t released, uint32_t slots) noexcept {
  const bool first = last_ns_ == 0;
  const auto drained = static_cast<int64_t>(released - last_released_);
  const int64_t elapsed_ns = now_ns - last_ns_;
  last_ns_ = now_ns;
  last_released_ = released;
  const int64_t most = std::max<int64_t>(1, slots / 3) * kWhole;
  if (first) {
    prctl(PR_SET_TIMERSLACK, kSlackNs);
    share_ = most;
    return 0;
  }
  if (drained <= 0 || elapsed_ns > kLongestNapNs * drained) return 0;
  share_ = drained >= slots ? std::max(share_ / 2, kLeast) : std::min(share_ + 1, most);
  const int64_t nap_ns = elapsed_ns * share_ / (kWhole * drained);
  return nap_ns <= kLongestNapNs ? nap_ns : 0;
}

}  // namespace framelane
