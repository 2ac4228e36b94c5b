#include "core/refill_pace.h"

#include <sys/prctl.h>

#include <algorithm>

namespace framelane {
namespace {

// Beyond this a wake-up is no cost to speak of.
constexpr int64_t kLongestNapNs = 500'000;

// The kernel may prolong a sleep by the thread's slack, 50 us unless told otherwise: a whole ring of small frames.
constexpr unsigned long kSlackNs = 1'000;

}  // namespace

// A ring that ran empty shortens the next nap by itself: the third of the ring is then a third of this whole cycle.
int64_t RefillPace::nap_ns(MonotonicNs now_ns, uint64_t released, uint32_t slots) noexcept {
  if (last_ns_ == 0) prctl(PR_SET_TIMERSLACK, kSlackNs);
  const uint64_t drained = released - last_released_;
  const int64_t elapsed_ns = now_ns - last_ns_;
  const bool known = last_ns_ != 0 && drained > 0;
  last_ns_ = now_ns;
  last_released_ = released;
  if (!known) return 0;
  const int64_t wanted = std::max<int64_t>(1, slots / 3);
  if (elapsed_ns > kLongestNapNs * static_cast<int64_t>(slots)) return 0;
  const int64_t nap_ns = elapsed_ns * wanted / static_cast<int64_t>(drained);
  return nap_ns <= kLongestNapNs ? nap_ns : 0;
}

}  // namespace framelane
