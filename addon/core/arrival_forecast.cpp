#include "core/arrival_forecast.h"

#include <algorithm>
#include <cstdlib>

namespace framelane {
namespace {

constexpr int64_t kFirstMarginNs = 200'000;
constexpr int64_t kLeastMarginNs = 50'000;
// The most that a window may take of the period on either side of the expected arrival.
constexpr int64_t kMarginShare = 4;
// A frame that is further off than this share of the period says nothing about the next one.
constexpr int64_t kStrayShare = 8;
// With each such frame so much is added, with each other one 1 taken away. At this sum the source has another period.
constexpr uint32_t kStrayWeight = 2;
constexpr uint32_t kMostStrays = 6;
// After so many periods without a frame none is expected.
constexpr int64_t kMostMissed = 4;

// Grows by half where it was too short and shrinks by a 512th where it was enough: balanced at a miss in 256.
int64_t adapted(int64_t margin_ns, bool too_short, int64_t period_ns) noexcept {
  const int64_t next_ns = too_short ? margin_ns + margin_ns / 2 : margin_ns - margin_ns / 512;
  return std::clamp(next_ns, kLeastMarginNs, std::max(period_ns / kMarginShare, kLeastMarginNs));
}

}  // namespace

void ArrivalForecast::arrived(MonotonicNs arrival_ns, Found found) noexcept {
  const int64_t gap_ns = last_ns_ == 0 ? 0 : arrival_ns - last_ns_;
  last_ns_ = arrival_ns;
  if (period_ns_ == 0) {
    learn(gap_ns);
    return;
  }
  int64_t error_ns = arrival_ns - expected_ns_;
  const int64_t missed = error_ns > 0 ? (error_ns + period_ns_ / 2) / period_ns_ : 0;
  expected_ns_ += missed * period_ns_;
  error_ns -= missed * period_ns_;
  const bool stray = missed > kMostMissed || std::abs(error_ns) > period_ns_ / kStrayShare;
  strays_ = stray ? strays_ + kStrayWeight : std::max(strays_, 1U) - 1;
  if (missed > kMostMissed || strays_ >= kMostStrays) {
    period_ns_ = 0;
    last_gap_ns_ = 0;
    return;
  }
  // A frame that came long before its time is an extra one: the expected one is still to come.
  if (error_ns < -period_ns_ / 2) return;
  if (!stray) {
    widen(error_ns, found);
    follow(error_ns);
  }
  expected_ns_ += period_ns_;
}

// Two gaps alike make a period.
void ArrivalForecast::learn(int64_t gap_ns) noexcept {
  const bool alike = last_gap_ns_ > 0 && gap_ns > 0 && std::abs(gap_ns - last_gap_ns_) <= last_gap_ns_ / kStrayShare;
  last_gap_ns_ = gap_ns;
  if (!alike) return;
  period_ns_ = gap_ns;
  expected_ns_ = last_ns_ + gap_ns;
  strays_ = 0;
  lead_ns_ = tail_ns_ = std::min(kFirstMarginNs, std::max(period_ns_ / kMarginShare, kLeastMarginNs));
}

void ArrivalForecast::widen(int64_t error_ns, Found found) noexcept {
  if (found == Found::busy) return;
  const bool after = error_ns > tail_ns_;
  lead_ns_ = adapted(lead_ns_, found == Found::asleep && !after, period_ns_);
  tail_ns_ = adapted(tail_ns_, found == Found::asleep && after, period_ns_);
}

// One frame that is late moves the next window little: these are the gains of a loop that settles without swinging.
void ArrivalForecast::follow(int64_t error_ns) noexcept {
  const int64_t bounded_ns = std::clamp(error_ns, -lead_ns_, lead_ns_);
  expected_ns_ += bounded_ns / 4;
  period_ns_ += bounded_ns / 32;
}

std::optional<ArrivalForecast::Window> ArrivalForecast::next(MonotonicNs now_ns) const noexcept {
  if (period_ns_ == 0) return std::nullopt;
  MonotonicNs expected_ns = expected_ns_;
  if (const int64_t past_ns = now_ns - expected_ns - tail_ns_; past_ns >= 0) {
    const int64_t missed = past_ns / period_ns_ + 1;
    if (missed > kMostMissed) return std::nullopt;
    expected_ns += missed * period_ns_;
  }
  return Window{expected_ns - lead_ns_, expected_ns + tail_ns_};
}

}  // namespace framelane
