// Runs frames from the ring through the pipeline to the sinks: a channel's steady state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/arrival_forecast.h"
#include "core/channel.h"
#include "core/channel_control.h"
#include "core/frame_port.h"
#include "core/pipeline_exchange.h"
#include "core/rig.h"
#include "core/sink_set.h"
#include "core/state_writer.h"

namespace framelane {

enum class LoopEnd : uint8_t {
  look,             // a replacement of the pipeline was asked for or is there; run() again afterwards
  leave,            // stop, restart or quit
  source_ended,     // and all it delivered is done; the port says how
  pipeline_failed,  // too many frames in a row
};

// Allocates in attach() and when something fails, never for a frame that passes.
// Thread-safety: owned by the worker, except lane_done().
class FrameLoop final : public LaneListener {
 public:
  FrameLoop(const ChannelSpec& spec, stats::ChannelBlock& block, EventReporter& events, StateWriter& state,
            ChannelControl& control, PipelineExchange& exchange, SinkSet& sinks, std::shared_ptr<Attention> attention);

  // Before run(), and again after the rig's pipeline has been exchanged. The rig outlives the runs.
  void attach(Rig& rig);
  // A source has been started: the time without a frame counts from now.
  void begin(Source& source, bool live);

  // No lane is busy when it returns.
  [[nodiscard]] LoopEnd run(RingPort& port);
  [[nodiscard]] const Error& last_error() const noexcept { return last_error_; }  // after `pipeline_failed`

  void lane_done(LaneIndex lane) noexcept override;

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  // One frame in flight.
  struct Lane {
    FilledSlot frame;
    FrameView input;
    std::vector<FrameView> outputs;
    uint32_t output_slot = kNoSlot;
    SinkMask sinks = 0;
    MonotonicNs submitted_ns = 0;
    bool holds_input = false;
    bool told = false;  // the pipeline is to tell of its end
  };

  [[nodiscard]] bool look_around(RingPort& port, LoopEnd& end);
  void begin_frame(const FilledSlot& frame);
  [[nodiscard]] bool too_late(const FilledSlot& frame, MonotonicNs now_ns);
  void prepare(Lane& lane, const FilledSlot& frame);
  void release_input(Lane& lane);
  void await_lane();
  void complete_oldest();
  void complete_all();
  void account(const Lane& lane, const Completion& completion, MonotonicNs now_ns);
  void show_report();
  void hand_out(Lane& lane);
  void frame_refused(Lane& lane, const Error& error);
  void frame_failed(Lane& lane, const Error& error);
  void drop(Lane& lane);
  void sleep(RingPort& port);
  [[nodiscard]] bool frame_or_attention() const noexcept;
  void await_frame(RingPort& port, MonotonicNs until_ns);
  void watch(RingPort& port, MonotonicNs until_ns);

  [[nodiscard]] LaneIndex lane_after(LaneIndex first, uint32_t steps) const noexcept {
    return static_cast<LaneIndex>((first + steps) % lanes_.size());
  }

  const ChannelSpec& spec_;
  stats::ChannelBlock& block_;
  StateWriter& state_;
  ChannelControl& control_;
  PipelineExchange& exchange_;
  SinkSet& sinks_;
  const std::shared_ptr<Attention> attention_;
  const std::function<bool()> leave_;
  LimitedReport errors_;

  Rig* rig_ = nullptr;
  std::vector<Lane> lanes_;
  PipelineReport shown_;   // what the cells hold of the pipeline's report
  bool notified_ = false;  // the pipeline tells when a lane is done
  LaneIndex oldest_ = 0;
  uint32_t busy_ = 0;

  Source* source_ = nullptr;
  bool live_ = false;
  bool source_ended_ = false;
  bool discontinuity_ = false;  // of a dropped frame, for the next one
  MonotonicNs last_frame_ns_ = 0;
  ArrivalForecast forecast_;                                     // `wait: spin`
  ArrivalForecast::Found found_ = ArrivalForecast::Found::busy;  // how the next frame finds this thread
  uint32_t errors_in_a_row_ = 0;
  Error last_error_;
};

}  // namespace framelane
