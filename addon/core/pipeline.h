// The asynchronous pipeline that a channel drives, and what compiles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/frame.h"
#include "core/replay.h"

namespace framelane {

using ArgumentValue = std::variant<double, std::string, std::vector<double>>;

// One item of the YAML list. Thread-safety: a value.
struct OperationSpec {
  std::string name;  // "local_contrast"
  std::map<std::string, ArgumentValue> arguments;
};

struct PipelineSpec {
  std::vector<OperationSpec> operations;  // empty: the output is the input
};

// Bounds of device memory; 0: no bound of its own. Thread-safety: a value.
struct DeviceLimits {
  uint64_t max_bytes = 0;
  uint32_t max_buffers = 0;
  bool operator==(const DeviceLimits&) const = default;
};

// What becomes of frames when the device has more to do than it can. never: each is processed, however late;
// drop_late: one that has missed its deadline before it is begun is dropped; degrade_others: as `never`, and its copies
// go before those of other channels.
enum class OnOverload : uint8_t { never, drop_late, degrade_others };

// How a channel wants to be served by a device that has memory and copies of its own. Thread-safety: a value.
struct ServiceWishes {
  DeviceLimits limits;           // of the channel's device memory
  bool spin = false;             // busy waiting for the device
  bool pinned_required = false;  // a copy that would have to be staged is an error
  int64_t deadline_ns = 0;       // from arrival to completion; 0: none
  OnOverload on_overload = OnOverload::never;
};

// Thread-safety: a value.
struct PipelineRequest {
  std::string channel;  // for messages only: two channels with one spec share the compiled code
  PipelineSpec spec;
  std::vector<FrameFormat> inputs;  // at least one; the largest extents
  uint32_t lanes = 1;
  uint32_t threads = 1;  // CPU: threads that work on one frame, the worker included
  ServiceWishes wishes;
};

// A scalar that can change while the pipeline runs. Thread-safety: a value.
struct ParameterInfo {
  std::string name;  // "gain.value"; the second gain of a list is "gain#2.value"
  double value = 0;
  double minimum = 0;
  double maximum = 0;
};

struct Job {
  std::span<const FrameView> inputs;
  std::span<const FrameView> outputs;  // data == nullptr: nobody wants it, no download
  const FrameMeta* meta = nullptr;     // valid until wait() of the lane has returned
};

// Where the time of one frame went; -1: not measured for this frame. On the CPU upload and download are 0.
struct Completion {
  Status status;
  int64_t upload_ns = 0;
  int64_t compute_ns = 0;
  int64_t download_ns = 0;
};

using LaneIndex = uint32_t;

// Thread-safety: lane_done() is called from any thread and does not block.
class LaneListener {
 public:
  virtual ~LaneListener() = default;
  virtual void lane_done(LaneIndex lane) noexcept = 0;
};

// Thread-safety: owned by one channel; every member function is called on its worker thread.
// Nothing here allocates, locks or throws between construction and destruction, except
// parameters() and the destructor.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  // Largest extents of each output; fixed for the life of the pipeline.
  [[nodiscard]] virtual std::span<const FrameFormat> outputs() const noexcept = 0;
  [[nodiscard]] virtual uint32_t lanes() const noexcept = 0;

  // Geometry of output `index` for inputs of these (possibly smaller) extents.
  [[nodiscard]] virtual FrameFormat output_for(size_t index, std::span<const FrameFormat> inputs) const noexcept = 0;

  // Starts a frame on a free lane and returns; the views stay valid until wait() has returned.
  // An error means that the lane is still free. frame_late: the channel drops such frames (OnOverload::drop_late), and
  // this one's deadline was over before the device had time for it.
  virtual Status submit(LaneIndex lane, const Job& job) noexcept = 0;

  // True: the lane's inputs have been read, the input slots may be refilled. Asked from submit() to wait(), after which
  // they have been in any case. It may wait for that, where others wait for what the inputs' way takes up.
  [[nodiscard]] virtual bool inputs_read(LaneIndex lane) noexcept = 0;

  // True when wait() would return at once.
  [[nodiscard]] virtual bool done(LaneIndex lane) noexcept = 0;

  // Blocks until the lane's frame is finished; the lane is free again.
  [[nodiscard]] virtual Completion wait(LaneIndex lane) noexcept = 0;

  // Before the first submit(), and only with more than one lane: `listener` hears of lanes that become done, so that
  // the worker can sleep for the next frame and for a lane at once. nullptr takes it back. False: this pipeline cannot
  // tell; done() is asked every quarter of a millisecond instead.
  [[nodiscard]] virtual bool notify(LaneListener* listener) noexcept {
    (void)listener;
    return false;
  }
  // Once for a lane's frame, after notify(): the listener is to hear of its end.
  virtual void tell(LaneIndex lane) noexcept { (void)lane; }

  // As it stands after the last wait(). Counts since construction.
  [[nodiscard]] virtual PipelineReport report() const noexcept { return {}; }

  [[nodiscard]] virtual std::vector<ParameterInfo> parameters() const = 0;

  // Takes effect with the next submit(). Out of range or unknown: invalid_argument, nothing changed.
  virtual Status set_parameter(const std::string& name, double value) noexcept = 0;

  // Forgets what earlier frames left behind (after a discontinuity or on command).
  virtual void reset_state() noexcept = 0;
};

// Thread-safety: compile() may be called from several threads at once; it may take seconds
// and is never called on a channel's worker thread.
class PipelineCompiler {
 public:
  virtual ~PipelineCompiler() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Pipeline>> compile(const PipelineRequest& request) = 0;
};

}  // namespace framelane
