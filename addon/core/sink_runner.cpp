#include "core/sink_runner.h"

#include <algorithm>

#include "core/stats_writer.h"
#include "core/thread_policy.h"

namespace framelane {
namespace {

// Ctrl-C has to end everything within two seconds; a sink gets half of them for what it has queued.
constexpr int64_t kFinishNs = 1'000'000'000;

}  // namespace

SinkRunner::SinkRunner(SinkRunnerConfig config, std::shared_ptr<OutputPool> pool, stats::SinkGroup& cells,
                       EventReporter& events, std::shared_ptr<Attention> attention,
                       std::unique_ptr<SinkRunner> predecessor)
    : config_(std::move(config)),
      pool_(std::move(pool)),
      cells_(cells),
      events_(events),
      attention_(std::move(attention)),
      queue_(std::max<uint32_t>(1, config_.spec.queue)),
      predecessor_(std::move(predecessor)),
      backoff_(config_.retry),
      errors_(events, config_.index) {
  thread_ = std::thread([this] { run(); });
}

SinkRunner::~SinkRunner() {
  finish();
}

// Atomic: after a change of format the sink's thread counts what its predecessor could not write.
void SinkRunner::drop() noexcept {
  cells_.dropped.fetch_add(1, std::memory_order_acq_rel);
}

void SinkRunner::offer(uint32_t slot, const std::function<bool()>& leave) noexcept {
  pool_->share(slot);
  bool queued = queue_.push(slot);
  if (!queued && config_.spec.on_full == SinkFull::drop_oldest) {
    if (const auto oldest = queue_.pop()) {
      pool_->give_up(*oldest);
      drop();
    }
    queued = queue_.push(slot);
  }
  if (!queued && config_.spec.on_full == SinkFull::wait) {
    attention_->signal().wait_until(kNoDeadline, [&] {
      queued = queue_.push(slot);
      return queued || leave();
    });
  }
  if (!queued) {
    pool_->give_up(slot);
    drop();
    return;
  }
  signal_.notify();
}

void SinkRunner::ask_to_finish() noexcept {
  if (finishing_.load(std::memory_order_relaxed)) return;
  finish_by_ns_.store(monotonic_now_ns() + kFinishNs, std::memory_order_relaxed);
  finishing_.store(true, std::memory_order_release);
  signal_.notify();
}

void SinkRunner::finish() noexcept {
  ask_to_finish();
  if (!thread_.joinable()) return;
  thread_.join();
  while (const auto slot = queue_.pop()) {
    pool_->give_up(*slot);
    drop();
  }
}

void SinkRunner::run() {
  name_this_thread("s:" + config_.channel);
  take_over_predecessor();
  open();
  for (;;) {
    const bool finishing = finishing_.load(std::memory_order_acquire);
    if (finishing && monotonic_now_ns() > finish_by_ns_.load(std::memory_order_relaxed)) break;
    if (const auto slot = queue_.pop()) {
      serve(*slot);
      pool_->give_up(*slot);
      if (config_.spec.on_full == SinkFull::wait) attention_->signal().notify();
      continue;
    }
    if (finishing) break;
    const MonotonicNs now = monotonic_now_ns();
    errors_.flush(now);
    if (!open_ && now >= retry_ns_) {
      open();
      continue;
    }
    const MonotonicNs until = std::min(open_ ? kNoDeadline : retry_ns_, errors_.due_ns());
    signal_.wait_until(until, [this] { return queue_.size() != 0 || finishing_.load(std::memory_order_acquire); });
  }
  close();
}

void SinkRunner::take_over_predecessor() {
  if (predecessor_ != nullptr) {
    predecessor_->finish();
    sink_ = std::move(predecessor_->sink_);
    predecessor_.reset();
  }
  if (sink_ == nullptr) sink_ = config_.spec.make();
}

void SinkRunner::serve(uint32_t slot) {
  if (!open_ && monotonic_now_ns() >= retry_ns_) open();
  if (!open_) {
    stats::add_alone(cells_.failed);
    return;
  }
  const ResultFrame& frame = pool_->frame(slot);
  if (Status written = sink_->write(frame); !written) {
    stats::add_alone(cells_.failed);
    fail(written.error());
    return;
  }
  stats::add_alone(cells_.written);
  stats::add_alone(cells_.written_bytes, frame.view.format.bytes());
}

void SinkRunner::open() {
  if (sink_ == nullptr) {
    fail({ErrorCode::sink_failed, "it cannot be made"});
    return;
  }
  if (Status opened = sink_->open(config_.format); !opened) {
    fail(opened.error());
    return;
  }
  open_ = true;
  opened_ns_ = monotonic_now_ns();
  cells_.error_code.store(0, std::memory_order_relaxed);
}

void SinkRunner::close() {
  if (!open_) return;
  open_ = false;
  if (Status closed = sink_->close(); !closed) fail(closed.error());
}

void SinkRunner::fail(const Error& error) {
  const MonotonicNs now = monotonic_now_ns();
  if (open_) {
    backoff_.worked_for(now - opened_ns_);
    open_ = false;
    (void)sink_->close();  // what it says is no news: the failure before it is reported
  }
  retry_ns_ = now + backoff_.next_delay_ns();
  cells_.error_code.store(static_cast<uint64_t>(error.code), std::memory_order_relaxed);
  errors_.report(
      {ErrorCode::sink_failed, "sink " + config_.spec.name + " of channel " + config_.channel + ": " + error.message},
      now);
}

}  // namespace framelane
