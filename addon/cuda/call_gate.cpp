#include "cuda/call_gate.h"

#include <time.h>

#include <algorithm>

namespace framelane::cuda {

CallGate::Place CallGate::begin() noexcept {
  return begin(monotonic_now_ns());
}

CallGate::Place CallGate::begin(MonotonicNs since_ns) noexcept {
  for (Place place = kept_open_ ? kNone : 0; place < kNone; ++place) {
    MonotonicNs free = 0;
    if (!since_ns_[place].compare_exchange_strong(free, since_ns, std::memory_order_relaxed)) continue;
    under_way_.fetch_add(1, std::memory_order_relaxed);
    return place;
  }
  return kNone;
}

void CallGate::end(Place place) noexcept {
  if (place == kNone) return;
  since_ns_[place].store(0, std::memory_order_relaxed);
  under_way_.fetch_sub(1, std::memory_order_relaxed);
}

bool CallGate::closed(MonotonicNs now) const noexcept {
  return std::any_of(since_ns_.begin(), since_ns_.end(), [&](const std::atomic<MonotonicNs>& since) {
    const MonotonicNs since_ns = since.load(std::memory_order_relaxed);
    return since_ns != 0 && now - since_ns > limits_.held_up_after_ns;
  });
}

void CallGate::wait() const noexcept {
  constexpr timespec kNap{0, 50'000};
  const MonotonicNs begin = monotonic_now_ns();
  for (MonotonicNs now = begin; now - begin < limits_.longest_wait_ns && closed(now); now = monotonic_now_ns())
    nanosleep(&kNap, nullptr);
}

}  // namespace framelane::cuda
