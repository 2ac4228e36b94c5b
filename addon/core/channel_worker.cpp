#include "core/channel_worker.h"

#include "core/stats_block.h"
#include "core/stats_writer.h"
#include "core/thread_policy.h"

namespace framelane {
namespace {

// A source may have started to open just after it was interrupted: it is interrupted again.
constexpr int64_t kInterruptAgainNs = 50'000'000;

// Trying again changes nothing until somebody changes the configuration. Memory that is refused now may be there once
// another channel, or another program, has left.
bool lasts(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::pipeline_invalid:
    case ErrorCode::compile_failed:
    case ErrorCode::unsupported:
    case ErrorCode::invalid_argument:
    case ErrorCode::over_limit: return true;
    default: return false;
  }
}

}  // namespace

Channel::Worker::Worker(ChannelSpec spec, Device& device, CompileService& compile, stats::ChannelBlock& block,
                        EventListener& events)
    : spec_(std::move(spec)),
      device_(device),
      block_(block),
      events_(spec_.name, events),
      control_(spec_.name, attention_),
      state_(block.worker, events_),
      exchange_(compile, device, attention_),
      sinks_(spec_, block, events_, attention_),
      loop_(spec_, block, events_, state_, control_, exchange_, sinks_, attention_),
      port_(block.source, attention_, events_),
      backoff_(spec_.retry),
      pipeline_(spec_.pipeline) {
  const bool had_finished =
      block_.worker.state.load(std::memory_order_relaxed) == static_cast<uint64_t>(ChannelState::finished);
  stats::take_over(block_, spec_.after_device_loss ? stats::Cause::device : stats::Cause::engine);
  if (had_finished)  // under an engine that is gone; it plays again when it is told to
    state_.enter(ChannelState::finished);
  else if (spec_.start)
    control_.start();
  else
    state_.remain_idle();
  thread_ = std::thread([this] { run(); });
}

Channel::Worker::~Worker() {
  control_.quit();
  join();
  thread_.join();
}

void Channel::Worker::join() {
  while (!state_changed_.wait_until(monotonic_now_ns() + kInterruptAgainNs, [this] { return at_rest_.load(); })) {
    if (control_.must_leave()) control_.interrupt_source();
  }
}

void Channel::Worker::enter_thread() {
  name_this_thread("w:" + spec_.name);
  for (const std::string& refused : apply_to_this_thread(spec_.thread_policy)) {
    events_.report(ErrorCode::unsupported, "channel " + spec_.name + " goes on without: " + refused);
  }
  if (spec_.wait == Wait::spin) sleep_precisely();
}

void Channel::Worker::run() {
  enter_thread();
  for (ChannelControl::Wish wish = control_.wish(); wish != ChannelControl::Wish::quit; wish = control_.wish()) {
    if (wish != ChannelControl::Wish::run) {
      rest(wish);
      continue;
    }
    count_restart();
    ran_ns_ = 0;
    settle(session());
  }
  dismantle();
  state_.enter(ChannelState::stopped);
  at_rest_.store(true);
  state_changed_.notify();
}

// Idle before the first start(), stopped after a stop(). `wish` is what sent the worker here: a command that came
// since ends the rest at once.
void Channel::Worker::rest(ChannelControl::Wish wish) {
  dismantle();
  failed_part_ = Part::none;
  if (wish == ChannelControl::Wish::stop) {
    state_.enter(ChannelState::stopped);
    at_rest_.store(true);
    state_changed_.notify();
  }
  attention_->signal().wait_until(kNoDeadline, [&] { return control_.wish() != wish; });
  at_rest_.store(false);
}

void Channel::Worker::count_restart() {
  stats::Update update(block_.worker.sequence);
  if (control_.take_restart()) update.add(block_.worker.restarts_command);
  if (failed_part_ == Part::source) update.add(block_.worker.restarts_source);
  if (failed_part_ == Part::pipeline) update.add(block_.worker.restarts_pipeline);
  failed_part_ = Part::none;
}

void Channel::Worker::settle(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::leave: dismantle(); return;
    case Outcome::Kind::finished: {
      dismantle();
      const uint64_t commands = control_.commands();
      state_.enter(ChannelState::finished);
      attention_->signal().wait_until(kNoDeadline,
                                      [&] { return control_.must_leave() || control_.commands() != commands; });
      return;
    }
    case Outcome::Kind::failed:
      if (lasts(outcome.error.code)) {
        fault(outcome.error);
      } else {
        back_off(outcome);
      }
  }
}

void Channel::Worker::fault(const Error& error) {
  dismantle();
  const uint64_t commands = control_.commands();
  state_.enter(ChannelState::faulted, error);
  attention_->signal().wait_until(kNoDeadline, [&] {
    return control_.must_leave() || control_.commands() != commands || control_.has_replacement();
  });
}

void Channel::Worker::back_off(const Outcome& outcome) {
  // A rig whose source went away serves the next one, and its sinks stay open; a pipeline that failed is made anew.
  if (outcome.part == Part::pipeline) dismantle();
  failed_part_ = outcome.part;
  backoff_.worked_for(ran_ns_);
  const MonotonicNs until = monotonic_now_ns() + backoff_.next_delay_ns();
  const uint64_t commands = control_.commands();
  state_.enter(ChannelState::backoff, outcome.error);
  attention_->signal().wait_until(until, [&] { return control_.must_leave() || control_.commands() != commands; });
  if (control_.must_leave()) failed_part_ = Part::none;
}

}  // namespace framelane
