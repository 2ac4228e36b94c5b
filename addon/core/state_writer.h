// A channel's state, in its cells and as an event.
#pragma once

#include <string>

#include "core/event_reporter.h"
#include "core/stats_writer.h"

namespace framelane {

// Thread-safety: owned by the worker.
class StateWriter {
 public:
  StateWriter(stats::WorkerGroup& cells, EventReporter& events) : cells_(cells), events_(events) {}

  void enter(ChannelState state) { enter(state, {ErrorCode::ok, {}}); }
  // With what led to it. The cell of the last failure is kept until the channel runs.
  void enter(ChannelState state, const Error& why) {
    if (state == events_.state() && why.code == ErrorCode::ok) return;
    write(state, why.code);
    events_.enter(state, why.code, why.message);
  }
  // Nobody has started the channel. No edge, but who reads the cells must see that this engine wrote them.
  void remain_idle() { write(ChannelState::idle, ErrorCode::ok); }
  [[nodiscard]] ChannelState state() const noexcept { return events_.state(); }

 private:
  void write(ChannelState state, ErrorCode why) {
    stats::Update update(cells_.sequence);
    update.set(cells_.state, static_cast<uint64_t>(state));
    update.set(cells_.state_since_ns, static_cast<uint64_t>(monotonic_now_ns()));
    if (why != ErrorCode::ok || state == ChannelState::running)
      update.set(cells_.error_code, static_cast<uint64_t>(why));
  }

  stats::WorkerGroup& cells_;
  EventReporter& events_;
};

}  // namespace framelane
