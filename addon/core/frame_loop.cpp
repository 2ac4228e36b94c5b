#include "core/frame_loop.h"

#include <algorithm>
#include <utility>

#include "core/histogram.h"
#include "core/pause.h"
#include "core/stats_writer.h"

namespace framelane {
namespace {

// So many frames in a row that the pipeline refuses are no accident of one frame.
constexpr uint32_t kErrorsBeforeRestart = 10;

// How often done() is asked where the pipeline cannot tell.
constexpr int64_t kPollNs = 250'000;

}  // namespace

FrameLoop::FrameLoop(const ChannelSpec& spec, stats::ChannelBlock& block, EventReporter& events, StateWriter& state,
                     ChannelControl& control, PipelineExchange& exchange, SinkSet& sinks,
                     std::shared_ptr<Attention> attention)
    : spec_(spec),
      block_(block),
      state_(state),
      control_(control),
      exchange_(exchange),
      sinks_(sinks),
      attention_(std::move(attention)),
      leave_([this] { return control_.must_leave(); }),
      errors_(events) {}

void FrameLoop::attach(Rig& rig) {
  rig_ = &rig;
  Pipeline& pipeline = rig.pipeline();
  lanes_.assign(std::clamp<size_t>(pipeline.lanes(), 1, spec_.in_flight), Lane{});
  for (Lane& lane : lanes_) lane.outputs.resize(pipeline.outputs().size());
  notified_ = lanes_.size() > 1 && spec_.wait == Wait::blocking && pipeline.notify(this);
  oldest_ = 0;
  busy_ = 0;
  shown_ = {};
  {
    stats::Update update(block_.worker.sequence);
    update.set(block_.worker.lanes, lanes_.size());
    update.set(block_.worker.replay, static_cast<uint64_t>(Replay::none));
    update.set(block_.worker.replay_obstacle, static_cast<uint64_t>(ReplayObstacle::none));
  }
  show_report();
}

void FrameLoop::begin(Source& source, bool live) {
  source_ = &source;
  forecast_ = {};
  live_ = live;
  source_ended_ = false;
  last_frame_ns_ = monotonic_now_ns();
  errors_in_a_row_ = 0;
}

void FrameLoop::lane_done(LaneIndex) noexcept {
  attention_->signal().notify();
}

LoopEnd FrameLoop::run(RingPort& port) {
  LoopEnd end{};
  for (bool look = true;; look = false) {
    if ((attention_->take() || look) && look_around(port, end)) break;
    if (errors_in_a_row_ >= kErrorsBeforeRestart) {
      end = LoopEnd::pipeline_failed;
      break;
    }
    if (busy_ < lanes_.size()) {
      if (const std::optional<FilledSlot> frame = rig_->ring().take()) {
        begin_frame(*frame);
        continue;
      }
    }
    if (busy_ > 0) {
      await_lane();
    } else if (source_ended_) {
      end = LoopEnd::source_ended;
      break;
    } else {
      sleep(port);
    }
  }
  complete_all();
  return end;
}

// True: the loop ends.
bool FrameLoop::look_around(RingPort& port, LoopEnd& end) {
  if (control_.must_leave()) {
    end = LoopEnd::leave;
    return true;
  }
  if (Status applied = control_.apply_parameters(rig_->pipeline()); !applied) {
    errors_.report(applied.error(), monotonic_now_ns());
  }
  source_ended_ = port.end() != SourceEnd::none;
  end = LoopEnd::look;
  return control_.has_replacement() || exchange_.ready();
}

bool FrameLoop::too_late(const FilledSlot& frame, MonotonicNs now_ns) {
  if (spec_.on_overload != OnOverload::drop_late || spec_.deadline_ns <= 0) return false;
  return now_ns - frame.meta.arrival_ns > spec_.deadline_ns;
}

void FrameLoop::begin_frame(const FilledSlot& frame) {
  const MonotonicNs now = monotonic_now_ns();
  last_frame_ns_ = now;
  if (spec_.wait == Wait::spin) {
    forecast_.arrived(frame.meta.arrival_ns, found_);
    found_ = ArrivalForecast::Found::busy;
  }
  if (state_.state() == ChannelState::stalled) state_.enter(ChannelState::running);
  discontinuity_ |= frame.meta.discontinuity;
  if (too_late(frame, now)) {
    {
      stats::Update update(block_.worker.sequence);
      update.add(block_.worker.dropped_late);
    }
    rig_->ring().release(frame.index);
    return;
  }
  if (discontinuity_) {
    complete_all();
    rig_->pipeline().reset_state();
  }
  const LaneIndex index = lane_after(oldest_, busy_);
  Lane& lane = lanes_[index];
  prepare(lane, frame);
  lane.frame.meta.discontinuity = discontinuity_;
  lane.submitted_ns = now;
  discontinuity_ = false;
  const Job job{{&lane.input, 1}, lane.outputs, &lane.frame.meta};
  ++busy_;
  if (Status submitted = rig_->pipeline().submit(index, job); !submitted) {
    --busy_;
    release_input(lane);
    frame_refused(lane, submitted.error());
  }
}

void FrameLoop::prepare(Lane& lane, const FilledSlot& frame) {
  lane.frame = frame;
  lane.holds_input = true;
  lane.told = false;
  lane.input.data = const_cast<std::byte*>(frame.data);  // a pipeline only reads its inputs
  lane.input.format = rig_->format();
  lane.input.format.width = frame.meta.width;
  lane.input.format.height = frame.meta.height;
  lane.sinks = rig_->pool() != nullptr ? sinks_.choose() : 0;
  lane.output_slot = lane.sinks != 0 ? rig_->pool()->acquire() : kNoSlot;
  for (size_t i = 0; i < lane.outputs.size(); ++i) {
    FrameView& view = lane.outputs[i];
    view.format = rig_->pipeline().output_for(i, {&lane.input.format, 1});
    view.data = lane.output_slot != kNoSlot ? rig_->pool()->data(lane.output_slot, i) : nullptr;
  }
}

void FrameLoop::release_input(Lane& lane) {
  if (!std::exchange(lane.holds_input, false)) return;
  rig_->ring().release(lane.frame.index);
}

// Inputs that have been read go back to the source before anything is waited for. Then, with a lane free, the next
// frame is as welcome as the end of the oldest one.
void FrameLoop::await_lane() {
  Pipeline& pipeline = rig_->pipeline();
  for (uint32_t i = 0; i < busy_; ++i) {
    const LaneIndex index = lane_after(oldest_, i);
    if (lanes_[index].holds_input && pipeline.inputs_read(index)) release_input(lanes_[index]);
  }
  if (busy_ < lanes_.size() && !pipeline.done(oldest_)) {
    const auto called = [&] { return frame_or_attention() || pipeline.done(oldest_); };
    if (spec_.wait == Wait::spin) {
      while (!called()) pause_briefly();
    } else {
      if (notified_ && !std::exchange(lanes_[oldest_].told, true)) pipeline.tell(oldest_);
      const MonotonicNs until = notified_ ? kNoDeadline : monotonic_now_ns() + kPollNs;
      attention_->signal().wait_until(until, called);
    }
    if (!pipeline.done(oldest_)) return;
  }
  complete_oldest();
}

void FrameLoop::complete_all() {
  while (busy_ > 0) complete_oldest();
}

void FrameLoop::complete_oldest() {
  const LaneIndex index = oldest_;
  const Completion completion = rig_->pipeline().wait(index);
  oldest_ = lane_after(oldest_, 1);
  --busy_;
  Lane& lane = lanes_[index];
  release_input(lane);
  if (!completion.status) {
    frame_failed(lane, completion.status.error());
    return;
  }
  errors_in_a_row_ = 0;
  const MonotonicNs now = monotonic_now_ns();
  account(lane, completion, now);
  show_report();
  hand_out(lane);
  errors_.flush(now);
}

void FrameLoop::account(const Lane& lane, const Completion& completion, MonotonicNs now_ns) {
  const MonotonicNs arrival = lane.frame.meta.arrival_ns;
  const int64_t total = now_ns - arrival;
  stats::WorkerGroup& cells = block_.worker;
  {
    stats::Update update(cells.sequence);
    update.add(cells.processed);
    update.set(cells.last_processed_ns, static_cast<uint64_t>(now_ns));
    if (spec_.deadline_ns > 0 && total > spec_.deadline_ns) update.add(cells.deadline_missed);
    update.set(cells.slots_full, rig_->ring().full());
    update.set(cells.slots_reading, rig_->ring().reading());
  }
  const auto stage = [&](stats::Stage which, int64_t duration_ns) {
    if (duration_ns >= 0) stats::record(block_.stages[static_cast<size_t>(which)], duration_ns);
  };
  stage(stats::Stage::wait, lane.submitted_ns - arrival);
  stage(stats::Stage::upload, completion.upload_ns);
  stage(stats::Stage::compute, completion.compute_ns);
  stage(stats::Stage::download, completion.download_ns);
  stage(stats::Stage::total, total);
}

void FrameLoop::show_report() {
  const PipelineReport report = rig_->pipeline().report();
  if (report == shown_) return;
  stats::WorkerGroup& cells = block_.worker;
  stats::Update update(cells.sequence);
  update.set(cells.replay, static_cast<uint64_t>(report.replay));
  update.set(cells.replay_obstacle, static_cast<uint64_t>(report.obstacle));
  update.add(cells.captures, report.captures - shown_.captures);
  update.add(cells.staged_frames, report.staged_frames - shown_.staged_frames);
  shown_ = report;
}

void FrameLoop::hand_out(Lane& lane) {
  if (lane.output_slot == kNoSlot) return;
  OutputPool& pool = *rig_->pool();
  ResultFrame& result = pool.frame(lane.output_slot);
  result.view = lane.outputs.front();
  result.meta = lane.frame.meta;
  // Carries on across engines, so that numbered files do not meet their predecessors.
  result.sequence = block_.worker.processed.load(std::memory_order_relaxed) - 1;
  sinks_.deliver(lane.sinks, lane.output_slot, result.view.format.bytes(), leave_);
  pool.give_up(lane.output_slot);
  lane.output_slot = kNoSlot;
}

void FrameLoop::frame_refused(Lane& lane, const Error& error) {
  if (error.code != ErrorCode::frame_late) return frame_failed(lane, error);
  {
    stats::Update update(block_.worker.sequence);
    update.add(block_.worker.dropped_late);
  }
  drop(lane);
}

void FrameLoop::drop(Lane& lane) {
  sinks_.missed(lane.sinks);
  if (lane.output_slot != kNoSlot) rig_->pool()->give_up(lane.output_slot);
  lane.output_slot = kNoSlot;
}

void FrameLoop::frame_failed(Lane& lane, const Error& error) {
  {
    stats::Update update(block_.worker.sequence);
    update.add(block_.worker.dropped_error);
    update.set(block_.worker.error_code, static_cast<uint64_t>(error.code));
  }
  drop(lane);
  ++errors_in_a_row_;
  last_error_ = error;
  errors_.report({error.code, "a frame of channel " + spec_.name + " failed: " + error.message}, monotonic_now_ns());
}

bool FrameLoop::frame_or_attention() const noexcept {
  return attention_->raised() || rig_->ring().full() > 0;
}

void FrameLoop::await_frame(RingPort& port, MonotonicNs until_ns) {
  const auto window = spec_.wait == Wait::spin ? forecast_.next(monotonic_now_ns()) : std::nullopt;
  found_ = ArrivalForecast::Found::asleep;
  const MonotonicNs awake_ns = window ? std::min(window->begin_ns, until_ns) : until_ns;
  if (attention_->signal().wait_until(awake_ns, [this] { return frame_or_attention(); }) || !window) return;
  watch(port, std::min(window->end_ns, until_ns));
}

// Sees a frame within a microsecond, at the cost of the core.
void FrameLoop::watch(RingPort& port, MonotonicNs until_ns) {
  // One that lies there already came while this thread was asleep.
  source_->look(port);
  if (frame_or_attention()) return;
  found_ = ArrivalForecast::Found::watching;
  while (monotonic_now_ns() < until_ns) {
    pause_briefly();
    source_->look(port);
    if (frame_or_attention()) return;
  }
}

void FrameLoop::sleep(RingPort& port) {
  {
    stats::Update update(block_.worker.sequence);
    update.set(block_.worker.slots_full, rig_->ring().full());
    update.set(block_.worker.slots_reading, 0);
  }
  const bool watches = live_ && spec_.stall_ns > 0 && state_.state() == ChannelState::running;
  const MonotonicNs stall_ns = watches ? last_frame_ns_ + spec_.stall_ns : kNoDeadline;
  await_frame(port, std::min(stall_ns, errors_.due_ns()));
  const MonotonicNs now = monotonic_now_ns();
  errors_.flush(now);
  if (watches && now >= stall_ns && rig_->ring().full() == 0) {
    state_.enter(ChannelState::stalled,
                 {ErrorCode::source_stalled,
                  "channel " + spec_.name + " got no frame for " + std::to_string(spec_.stall_ns / 1'000'000) + " ms"});
  }
}

}  // namespace framelane
