#include "core/refill_pace.h"

#include <algorithm>

#include "core/thread_policy.h"

namespace framelane {
namespace {

// Beyond this a wake-up is no cost to speak of.
constexpr int64_t kLongestNapNs = 500'000;

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
    sleep_precisely();  // the slack is as long as a whole ring of small frames lasts
    share_ = most;
    return 0;
  }
  if (drained <= 0 || elapsed_ns > kLongestNapNs * drained) return 0;
  share_ = drained >= slots ? std::max(share_ / 2, kLeast) : std::min(share_ + 1, most);
  const int64_t nap_ns = elapsed_ns * share_ / (kWhole * drained);
  return nap_ns <= kLongestNapNs ? nap_ns : 0;
}

}  // namespace framelane
