// A pipeline whose lanes are finished by another thread, as a device would.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/pipeline.h"
#include "core/signal.h"
#include "core/spsc_queue.h"

namespace framelane::fakes {

// What a pipeline does and what a test may look at. Thread-safety: set before the pipeline runs, except the atomics.
struct PipelineScript {
  std::atomic<int64_t> compute_ns{0};            // per frame, on the lane's own time
  std::atomic<uint64_t> fail_from{UINT64_MAX};   // submissions that fail at completion: first ...
  std::atomic<uint64_t> fail_until{UINT64_MAX};  // ... and first good one again
  std::atomic<uint64_t> refuse_at{UINT64_MAX};   // submission that submit() itself refuses
  std::atomic<uint64_t> late_from{UINT64_MAX};   // submissions that submit() calls late: first ...
  std::atomic<uint64_t> late_until{UINT64_MAX};  // ... and first that it takes again
  std::atomic<bool> hold{false};                 // nothing completes while it is set
  bool notifies = true;
  uint32_t most_lanes = 8;
  bool halves = false;  // the output is half as wide
  std::vector<ParameterInfo> parameters{{"gain.value", 1, 0, 16}};

  std::atomic<uint64_t> submitted{0};
  std::atomic<uint64_t> completed{0};
  std::atomic<uint64_t> asked{0};           // whether a lane is done
  std::atomic<uint64_t> torn{0};            // inputs whose bytes were not all the same
  std::atomic<uint64_t> without_output{0};  // frames that nobody wanted
  std::atomic<uint64_t> resets{0};
  std::atomic<uint32_t> most_in_flight{0};
  std::atomic<double> gain{1};
  Signal changed;  // after each completion, and for the test to notify after a change of `hold`
};

// Copies its input to its output, one lane at a time per lane thread.
// Thread-safety: as Pipeline says.
class FakePipeline final : public Pipeline {
 public:
  FakePipeline(const PipelineRequest& request, std::shared_ptr<PipelineScript> script)
      : script_(std::move(script)), lanes_(std::min(request.lanes, script_->most_lanes)) {
    const FrameFormat& in = request.inputs.front();
    outputs_ = {FrameFormat::packed(in.pixel, script_->halves ? (in.width + 1) / 2 : in.width, in.height)};
    for (size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].thread = std::thread([this, i] { serve(static_cast<LaneIndex>(i)); });
    }
  }
  ~FakePipeline() override {
    closing_.store(true);
    script_->changed.notify();
    for (Lane& lane : lanes_) {
      lane.signal.notify();
      lane.thread.join();
    }
  }

  std::span<const FrameFormat> outputs() const noexcept override { return outputs_; }
  uint32_t lanes() const noexcept override { return static_cast<uint32_t>(lanes_.size()); }
  FrameFormat output_for(size_t, std::span<const FrameFormat> inputs) const noexcept override {
    FrameFormat format = outputs_.front();
    format.height = inputs.front().height;
    return format;
  }
  Status submit(LaneIndex index, const Job& job) noexcept override {
    const uint64_t number = script_->submitted.fetch_add(1);
    if (number == script_->refuse_at.load()) return Error{ErrorCode::pipeline_failed, "the fake refuses"};
    if (number >= script_->late_from.load() && number < script_->late_until.load())
      return Error{ErrorCode::frame_late, "the fake has no time"};
    Lane& lane = lanes_[index];
    lane.input = job.inputs.front();
    lane.output = job.outputs.front();
    ++lane.frame;
    lane.fails = number >= script_->fail_from.load() && number < script_->fail_until.load();
    const uint32_t busy = in_flight_.fetch_add(1) + 1;
    if (busy > script_->most_in_flight.load()) script_->most_in_flight.store(busy);
    lane.state.store(State::submitted);
    lane.signal.notify();
    return {};
  }
  bool inputs_read(LaneIndex index) noexcept override { return lanes_[index].state.load() != State::submitted; }
  bool done(LaneIndex index) noexcept override {
    script_->asked.fetch_add(1);
    return lanes_[index].state.load() == State::done;
  }
  Completion wait(LaneIndex index) noexcept override {
    Lane& lane = lanes_[index];
    lane.signal.wait_until(kNoDeadline, [&] { return lane.state.load() == State::done; });
    lane.state.store(State::idle);
    in_flight_.fetch_sub(1);
    Completion completion;
    completion.upload_ns = 1000;
    completion.compute_ns = script_->compute_ns.load();
    completion.download_ns = 2000;
    if (lane.fails) completion.status = Error{ErrorCode::pipeline_failed, "the fake fails"};
    script_->completed.fetch_add(1);
    script_->changed.notify();
    return completion;
  }
  bool notify(LaneListener* listener) noexcept override {
    if (!script_->notifies) return false;
    listener_.store(listener);
    return true;
  }
  void tell(LaneIndex index) noexcept override {
    Lane& lane = lanes_[index];
    lane.told.store(lane.frame);
    if (lane.state.load() == State::done) listener_.load()->lane_done(index);
  }
  std::vector<ParameterInfo> parameters() const override {
    std::vector<ParameterInfo> now = script_->parameters;
    for (ParameterInfo& parameter : now) {
      if (parameter.name == "gain.value") parameter.value = gain_;
    }
    return now;
  }
  Status set_parameter(const std::string& name, double value) noexcept override {
    for (const ParameterInfo& parameter : script_->parameters) {
      if (parameter.name != name) continue;
      if (!(value >= parameter.minimum && value <= parameter.maximum)) break;
      gain_ = value;
      script_->gain.store(value);
      return {};
    }
    return Error{ErrorCode::invalid_argument, "the fake does not take " + name};
  }
  void reset_state() noexcept override { script_->resets.fetch_add(1); }

 private:
  enum class State : uint8_t { idle, submitted, computing, done };

  struct Lane {
    FrameView input;
    FrameView output;
    bool fails = false;
    uint64_t frame = 0;             // the worker's
    std::atomic<uint64_t> told{0};  // the frame that is to be told of
    std::atomic<State> state{State::idle};
    Signal signal;
    std::thread thread;
  };

  void serve(LaneIndex index) {
    Lane& lane = lanes_[index];
    for (;;) {
      lane.signal.wait_until(kNoDeadline, [&] { return closing_.load() || lane.state.load() == State::submitted; });
      if (lane.state.load() != State::submitted) return;
      const uint64_t frame = lane.frame;
      copy(lane);
      lane.state.store(State::computing);
      lane.signal.notify();
      const int64_t compute_ns = script_->compute_ns.load();
      if (compute_ns > 0) {
        script_->changed.wait_until(monotonic_now_ns() + compute_ns, [this] { return closing_.load(); });
      }
      script_->changed.wait_until(kNoDeadline, [this] { return closing_.load() || !script_->hold.load(); });
      lane.state.store(State::done);
      lane.signal.notify();
      if (lane.told.load() == frame) listener_.load()->lane_done(index);
    }
  }

  void copy(Lane& lane) {
    const size_t bytes = lane.input.format.row_stride_bytes * lane.input.format.height;
    const std::byte first = lane.input.data[0];
    for (size_t i = 1; i < bytes; ++i) {
      if (lane.input.data[i] != first) {
        script_->torn.fetch_add(1);
        break;
      }
    }
    if (lane.output.data == nullptr) {
      script_->without_output.fetch_add(1);
    } else {
      std::memset(lane.output.data, std::to_integer<int>(first), lane.output.format.bytes());
    }
  }

  const std::shared_ptr<PipelineScript> script_;
  std::vector<Lane> lanes_;
  std::vector<FrameFormat> outputs_;
  double gain_ = 1;
  std::atomic<bool> closing_{false};
  std::atomic<uint32_t> in_flight_{0};
  std::atomic<LaneListener*> listener_{nullptr};
};

}  // namespace framelane::fakes
