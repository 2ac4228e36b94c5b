#include "io/pacing.h"

#include <algorithm>

namespace framelane::io {

MonotonicNs frame_time_ns(uint64_t index, double fps) noexcept {
  // Rounded up, so that frame_index_at() of the result is never the frame before.
  const long double exact = static_cast<long double>(index) * kNsPerSecond / static_cast<long double>(fps);
  const auto whole = static_cast<MonotonicNs>(exact);
  return whole + (static_cast<long double>(whole) < exact ? 1 : 0);
}

uint64_t frame_index_at(MonotonicNs elapsed_ns, double fps) noexcept {
  if (elapsed_ns <= 0) return 0;
  auto index =
      static_cast<uint64_t>(static_cast<long double>(elapsed_ns) * static_cast<long double>(fps) / kNsPerSecond);
  // The product may round across a whole frame, either way.
  while (index > 0 && frame_time_ns(index, fps) > elapsed_ns) --index;
  while (frame_time_ns(index + 1, fps) <= elapsed_ns) ++index;
  return index;
}

MonotonicNs PlayClock::due_ns(MonotonicNs now_ns, MonotonicNs media_ns) noexcept {
  if (!running_ || now_ns - (origin_ns_ + media_ns) > most_late_ns_) {
    running_ = true;
    origin_ns_ = (phase_ && fps_ > 0 ? first_due_ns(now_ns, fps_, *phase_) : now_ns) - media_ns;
  }
  return origin_ns_ + media_ns;
}

bool PlayClock::wait(MonotonicNs media_ns, StopFlag& stop) noexcept {
  const MonotonicNs now_ns = monotonic_now_ns();
  const MonotonicNs due = due_ns(now_ns, media_ns);
  return due <= now_ns ? !stop.requested() : stop.sleep_until(due);
}

}  // namespace framelane::io
