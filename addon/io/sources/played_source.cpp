#include "io/sources/played_source.h"

namespace framelane::io {
namespace {

constexpr MonotonicNs kNoticePeriodNs = 1'000'000'000;

}  // namespace

void PlayedSource::begin_play() noexcept {
  next_id_ = 0;
  frames_since_rewind_ = 0;
  discontinuity_ = false;
}

Status PlayedSource::start(FramePort& port) {
  thread_.join();
  clock_.restart(traits().expected_fps, config_.phase);
  discontinuity_ = next_id_ != 0;
  return thread_.start(thread_name_, [this, &port] { run(port); });
}

void PlayedSource::run(FramePort& port) {
  while (!stop_flag().requested() && step(port)) {
  }
}

bool PlayedSource::step(FramePort& port) {
  switch (advance()) {
    case Step::frame: return deliver_next(port);
    case Step::incomplete: ++next_id_; return count_incomplete(port);
    case Step::end: return at_end(port);
    case Step::format_changed: port.format_changed(next_format()); return false;
    case Step::stopped: return false;
    case Step::failed: break;
  }
  port.failed(error_);
  return false;
}

bool PlayedSource::count_incomplete(FramePort& port) {
  port.lost(LostReason::incomplete, 1);
  discontinuity_ = true;
  const MonotonicNs now_ns = monotonic_now_ns();
  if (last_notice_ns_ == 0 || now_ns - last_notice_ns_ >= kNoticePeriodNs) {
    last_notice_ns_ = now_ns;
    port.notice(error_);
  }
  return true;
}

bool PlayedSource::at_end(FramePort& port) {
  if (!config_.loop) {
    port.finished();
    return false;
  }
  if (frames_since_rewind_ == 0) {
    // Going round without a frame would keep a core busy for nothing.
    port.failed({ErrorCode::source_malformed, "went through it once more and found no frame"});
    return false;
  }
  frames_since_rewind_ = 0;
  if (!rewind()) {
    port.failed(error_);
    return false;
  }
  discontinuity_ = true;
  return true;
}

bool PlayedSource::deliver_next(FramePort& port) {
  if (paced() && !clock_.wait(media_time_ns(), stop_flag())) return false;
  const bool wait = config_.pace == Pace::max;
  const std::optional<FillSlot> slot = wait ? port.acquire_wait() : port.acquire();
  if (!slot && wait) return false;
  ++frames_since_rewind_;
  if (!slot) {
    skip();
    port.lost(LostReason::ring_full, 1);
    ++next_id_;
    discontinuity_ = true;
    return true;
  }
  FrameMeta meta;
  meta.frame_id = next_id_;
  meta.discontinuity = discontinuity_;
  const Step filled = fill(slot->data, meta);
  if (filled != Step::frame) port.cancel(slot->index);
  if (filled == Step::failed) port.failed(error_);
  if (filled == Step::failed || filled == Step::stopped) return false;
  ++next_id_;
  if (filled == Step::incomplete) return count_incomplete(port);
  discontinuity_ = false;
  meta.arrival_ns = monotonic_now_ns();
  port.deliver(slot->index, meta);
  return true;
}

}  // namespace framelane::io
