// The life of a channel, on its worker thread.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "core/attention.h"
#include "core/backoff.h"
#include "core/channel.h"
#include "core/channel_control.h"
#include "core/event_reporter.h"
#include "core/frame_loop.h"
#include "core/frame_port.h"
#include "core/pipeline_exchange.h"
#include "core/rig.h"
#include "core/sink_set.h"
#include "core/state_writer.h"

namespace framelane {

// Thread-safety: control() and reporter() from any thread, join() from the control thread; all else is the worker
// thread's own.
class Channel::Worker {
 public:
  Worker(ChannelSpec spec, Device& device, CompileService& compile, stats::ChannelBlock& block, EventListener& events);
  ~Worker();

  [[nodiscard]] ChannelControl& control() noexcept { return control_; }
  [[nodiscard]] const EventReporter& reporter() const noexcept { return events_; }
  [[nodiscard]] const ChannelSpec& spec() const noexcept { return spec_; }
  void join();

 private:
  enum class Part : uint8_t { none, source, pipeline };

  // How a session ended.
  struct Outcome {
    enum class Kind : uint8_t { leave, finished, failed } kind = Kind::leave;
    Part part = Part::none;  // what failed
    Error error;
  };

  void run();
  void enter_thread();
  void rest(ChannelControl::Wish wish);
  void settle(const Outcome& outcome);
  void fault(const Error& error);
  void back_off(const Outcome& outcome);
  void count_restart();

  // channel_session.cpp: from an opened source to its end.
  [[nodiscard]] Outcome session();
  [[nodiscard]] Outcome run_source(Source& source, FrameFormat format);
  [[nodiscard]] Outcome prepare(const SourceTraits& traits, const FrameFormat& format);
  [[nodiscard]] Result<std::unique_ptr<Pipeline>> compile(const FrameFormat& format);
  [[nodiscard]] LoopEnd run_frames(Source& source, const SourceTraits& traits);
  void order_pipeline(const PipelineSpec& pipeline, const FrameFormat& format);
  void look_at_replacement();
  void swap_pipeline();
  void drop_waiting(stats::Cell& reason);
  void describe(const FrameFormat& input, const FrameFormat& output);
  void dismantle();

  [[nodiscard]] static Outcome leave() { return {}; }
  [[nodiscard]] static Outcome failed(Part part, Error error) {
    return {Outcome::Kind::failed, part, std::move(error)};
  }

  const ChannelSpec spec_;
  Device& device_;
  stats::ChannelBlock& block_;
  EventReporter events_;
  const std::shared_ptr<Attention> attention_ = std::make_shared<Attention>();
  Signal state_changed_;  // join() sleeps here
  // Sequentially consistent with the wish: join() after stop() never sees a rest that has just ended.
  std::atomic<bool> at_rest_{false};
  ChannelControl control_;

  // The worker thread's.
  StateWriter state_;
  PipelineExchange exchange_;
  SinkSet sinks_;
  FrameLoop loop_;
  RingPort port_;
  Backoff backoff_;
  int64_t ran_ns_ = 0;             // of the last session: how long its source delivered
  Part failed_part_ = Part::none;  // what the next session is a restart of
  PipelineSpec pipeline_;          // what runs, or is tried next
  std::optional<PipelineSpec> replacement_;
  bool same_pipeline_ = false;  // the next install is of a pipeline that ran before
  std::unique_ptr<Rig> rig_;

  std::thread thread_;
};

}  // namespace framelane
