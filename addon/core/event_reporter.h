// A channel's edges on their way to the listener.
#pragma once

#include <atomic>
#include <string>

#include "core/channel.h"

namespace framelane {

// Thread-safety: every member function from any thread.
class EventReporter {
 public:
  EventReporter(std::string channel, EventListener& listener) : channel_(std::move(channel)), listener_(listener) {}

  void enter(ChannelState state, ErrorCode code, std::string message) noexcept {
    state_.store(state, std::memory_order_release);
    report(code, std::move(message));
  }
  void report(ErrorCode code, std::string message, int32_t sink = -1) noexcept {
    listener_.on_event({channel_, state(), code, std::move(message), monotonic_now_ns(), sink});
  }
  [[nodiscard]] ChannelState state() const noexcept { return state_.load(std::memory_order_acquire); }

 private:
  const std::string channel_;
  EventListener& listener_;
  std::atomic<ChannelState> state_{ChannelState::idle};
};

// Repeated errors become one event a second with a count. Thread-safety: owned by one thread.
class LimitedReport {
 public:
  explicit LimitedReport(EventReporter& events, int32_t sink = -1) : events_(events), sink_(sink) {}

  void report(const Error& error, MonotonicNs now_ns) {
    last_ = error;
    ++waiting_;
    flush(now_ns);
  }
  // Sends what has waited long enough.
  void flush(MonotonicNs now_ns) {
    if (waiting_ == 0 || now_ns < next_ns_) return;
    std::string text = last_.message;
    if (waiting_ > 1) text += " (" + std::to_string(waiting_) + " times)";
    events_.report(last_.code, std::move(text), sink_);
    waiting_ = 0;
    next_ns_ = now_ns + 1'000'000'000;
  }
  // When flush() has something to do; kNoDeadline: nothing waits.
  [[nodiscard]] MonotonicNs due_ns() const noexcept { return waiting_ == 0 ? INT64_MAX : next_ns_; }

 private:
  EventReporter& events_;
  const int32_t sink_;
  Error last_;
  uint64_t waiting_ = 0;
  MonotonicNs next_ns_ = 0;
};

}  // namespace framelane
