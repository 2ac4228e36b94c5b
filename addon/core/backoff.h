// When to try again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "core/channel.h"

namespace framelane {

// Doubles from `first_ns` to `most_ns`; each delay is drawn from its upper half, so that channels that failed
// together do not come back together. Thread-safety: owned by one thread.
class Backoff {
 public:
  explicit Backoff(const RetryPolicy& policy) : policy_(policy), random_(std::random_device{}()) {}

  [[nodiscard]] int64_t next_delay_ns() {
    const int64_t most = std::max<int64_t>(policy_.most_ns, 1);
    delay_ns_ = delay_ns_ == 0 ? std::max<int64_t>(policy_.first_ns, 1) : delay_ns_ * 2;
    delay_ns_ = std::min(delay_ns_, most);
    return std::uniform_int_distribution<int64_t>(delay_ns_ - delay_ns_ / 2, delay_ns_)(random_);
  }

  // What failed now had worked for so long. More than the last wait was worth: start small again.
  void worked_for(int64_t duration_ns) noexcept {
    if (duration_ns > delay_ns_) delay_ns_ = 0;
  }

 private:
  const RetryPolicy policy_;
  int64_t delay_ns_ = 0;
  std::minstd_rand random_;
};

}  // namespace framelane
