// One session of a channel: from the opening of its source to the source's end.
#include "core/channel_worker.h"
#include "core/stats_writer.h"

namespace framelane {

Channel::Worker::Outcome Channel::Worker::session() {
  state_.enter(ChannelState::starting);
  Result<std::unique_ptr<Source>> made = spec_.make_source();
  if (!made) return failed(Part::source, made.error());
  const std::unique_ptr<Source> source = made.take();
  const std::optional<Result<FrameFormat>> opened = control_.open(*source);
  Outcome outcome = leave();
  if (opened && !opened->ok() && !control_.must_leave()) outcome = failed(Part::source, opened->error());
  if (opened && opened->ok()) {
    outcome = run_source(*source, opened->value());
    source->close();
  }
  return outcome;
}

// Until the source ends; a change of its format is part of its life.
Channel::Worker::Outcome Channel::Worker::run_source(Source& source, FrameFormat format) {
  for (;;) {
    const SourceTraits traits = source.traits();
    if (Outcome prepared = prepare(traits, format); prepared.kind != Outcome::Kind::finished) return prepared;
    if (Status announced = source.announce(rig_->ring()); !announced) return failed(Part::source, announced.error());
    port_.begin(rig_->ring(), format, rig_->handling());
    if (Status started = source.start(port_); !started) return failed(Part::source, started.error());
    state_.enter(ChannelState::running);
    const MonotonicNs begin_ns = monotonic_now_ns();
    const LoopEnd end = run_frames(source, traits);
    ran_ns_ += monotonic_now_ns() - begin_ns;
    port_.request_stop();
    source.stop();
    rig_->ring().reclaim();
    drop_waiting(end == LoopEnd::leave ? block_.worker.dropped_shutdown : block_.worker.dropped_error);
    if (end == LoopEnd::leave) return leave();
    if (end == LoopEnd::pipeline_failed) return failed(Part::pipeline, loop_.last_error());
    switch (port_.end()) {
      case SourceEnd::failed: return failed(Part::source, port_.error());
      case SourceEnd::format_changed:
        format = port_.new_format();
        events_.report(ErrorCode::source_format_changed,
                       "the frames of channel " + spec_.name + " are now " + format.describe());
        break;
      default: return {Outcome::Kind::finished, Part::none, {}};
    }
  }
}

// `finished`: the rig is there and fits; else why not.
Channel::Worker::Outcome Channel::Worker::prepare(const SourceTraits& traits, const FrameFormat& format) {
  const HandlingMode handling =
      spec_.handling.value_or(traits.live ? HandlingMode::oldest_first_overwrite : HandlingMode::oldest_first);
  const Outcome ready{Outcome::Kind::finished, Part::none, {}};
  {
    stats::Update update(block_.worker.sequence);
    update.set(block_.worker.expected_fps_milli, static_cast<uint64_t>(traits.expected_fps * 1000 + 0.5));
  }
  if (rig_ != nullptr && rig_->format() == format && rig_->handling() == handling) return ready;
  if (Status possible = Rig::check_input(spec_, format, handling); !possible) {
    return failed(Part::source, possible.error());
  }
  Result<std::unique_ptr<Pipeline>> pipeline = compile(format);
  if (control_.must_leave()) return leave();
  if (!pipeline) return failed(Part::pipeline, pipeline.error());
  state_.enter(ChannelState::starting);
  const RingUse use{handling, traits.filled_by_peer ? SlotSharing::peers : SlotSharing::own_process};
  rig_.reset();  // the old ring's memory is free before the new one is taken
  Result<std::unique_ptr<Rig>> rig = Rig::build(spec_, device_, format, use, pipeline.take(), attention_->signal());
  if (!rig) return failed(Part::pipeline, rig.error());
  rig_ = rig.take();
  control_.install(rig_->pipeline(), same_pipeline_);
  same_pipeline_ = true;
  loop_.attach(*rig_);
  sinks_.open(rig_->output(), rig_->pool());
  describe(format, rig_->output());
  return ready;
}

void Channel::Worker::order_pipeline(const PipelineSpec& pipeline, const FrameFormat& format) {
  PipelineRequest request;
  request.channel = spec_.name;
  request.spec = pipeline;
  request.inputs = {format};
  request.lanes = spec_.in_flight;
  request.threads = spec_.threads;
  request.wishes.limits = spec_.device_limits;
  request.wishes.pinned_required = spec_.pinned_required;
  request.wishes.spin = spec_.wait == Wait::spin;
  request.wishes.deadline_ns = spec_.deadline_ns;
  request.wishes.on_overload = spec_.on_overload;
  exchange_.order(std::move(request));
}

// Waits for the compile service. A replacement that arrives meanwhile is compiled instead.
Result<std::unique_ptr<Pipeline>> Channel::Worker::compile(const FrameFormat& format) {
  state_.enter(ChannelState::compiling);
  order_pipeline(pipeline_, format);
  for (;;) {
    attention_->signal().wait_until(kNoDeadline, [this] {
      return exchange_.ready() || control_.must_leave() || (rig_ == nullptr && control_.has_replacement());
    });
    if (control_.must_leave()) {
      exchange_.cancel();
      return Error{ErrorCode::compile_failed, "the channel was stopped"};
    }
    if (std::optional<PipelineSpec> next = rig_ == nullptr ? control_.take_replacement() : std::nullopt) {
      pipeline_ = std::move(*next);
      same_pipeline_ = false;
      order_pipeline(pipeline_, format);
      continue;
    }
    Result<std::unique_ptr<Pipeline>> result = exchange_.take();
    if (result.ok()) {
      stats::Update update(block_.worker.sequence);
      update.add(block_.worker.compilations);
    }
    return result;
  }
}

LoopEnd Channel::Worker::run_frames(Source& source, const SourceTraits& traits) {
  // A replacement that was being compiled for the former format is compiled for this one.
  if (replacement_) order_pipeline(*replacement_, rig_->format());
  loop_.begin(source, traits.live);
  for (;;) {
    const LoopEnd end = loop_.run(port_);
    if (end != LoopEnd::look) {
      exchange_.cancel();
      return end;
    }
    look_at_replacement();
  }
}

void Channel::Worker::look_at_replacement() {
  if (std::optional<PipelineSpec> next = control_.take_replacement()) {
    replacement_ = std::move(next);
    order_pipeline(*replacement_, rig_->format());
  }
  if (exchange_.ready()) swap_pipeline();
}

void Channel::Worker::swap_pipeline() {
  Result<std::unique_ptr<Pipeline>> made = exchange_.take();
  PipelineSpec spec = std::move(*replacement_);
  replacement_.reset();
  Result<bool> swapped = made.ok() ? rig_->exchange(spec_, made.take()) : Result<bool>(made.error());
  if (!swapped) {
    {
      stats::Update update(block_.worker.sequence);
      update.set(block_.worker.error_code, static_cast<uint64_t>(swapped.error().code));
    }
    events_.report(swapped.error().code, "channel " + spec_.name + " keeps its pipeline: " + swapped.error().message);
    return;
  }
  pipeline_ = std::move(spec);
  control_.install(rig_->pipeline(), false);
  loop_.attach(*rig_);
  if (swapped.value()) sinks_.open(rig_->output(), rig_->pool());
  describe(rig_->format(), rig_->output());
  {
    stats::Update update(block_.worker.sequence);
    update.add(block_.worker.compilations);
    update.add(block_.worker.pipeline_swaps);
  }
  events_.report(ErrorCode::ok, "channel " + spec_.name + " runs its new pipeline");
}

void Channel::Worker::drop_waiting(stats::Cell& reason) {
  uint64_t frames = 0;
  while (const std::optional<FilledSlot> frame = rig_->ring().take()) {
    rig_->ring().release(frame->index);
    ++frames;
  }
  stats::Update update(block_.worker.sequence);
  update.add(reason, frames);
  update.set(block_.worker.slots_full, 0);
  update.set(block_.worker.slots_reading, 0);
}

void Channel::Worker::describe(const FrameFormat& input, const FrameFormat& output) {
  stats::WorkerGroup& cells = block_.worker;
  stats::Update update(cells.sequence);
  update.set(cells.slots_total, rig_->ring().slots());
  update.set(cells.input_width, input.width);
  update.set(cells.input_height, input.height);
  update.set(cells.input_pixel, static_cast<uint64_t>(input.pixel));
  update.set(cells.output_width, output.width);
  update.set(cells.output_height, output.height);
  update.set(cells.output_pixel, static_cast<uint64_t>(output.pixel));
}

// Closes the sinks, so that what they wrote is final, and gives the memory back.
void Channel::Worker::dismantle() {
  control_.uninstall();
  exchange_.cancel();
  if (replacement_) {
    pipeline_ = std::move(*replacement_);
    replacement_.reset();
    same_pipeline_ = false;
  }
  sinks_.finish();
  rig_.reset();
}

}  // namespace framelane
