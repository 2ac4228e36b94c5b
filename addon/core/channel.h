// One channel: its source, ring, pipeline, sinks, and the worker thread that drives them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/error.h"
#include "core/pipeline.h"
#include "core/ring.h"
#include "core/sink.h"
#include "core/source.h"
#include "core/stats_layout.h"

namespace framelane {

using stats::ChannelState;

enum class SinkFull : uint8_t { drop_newest, drop_oldest, wait };

struct SinkSpec {
  std::string name;                             // "file 0", for messages
  std::function<std::unique_ptr<Sink>()> make;  // null: `none`
  bool wants_host = true;                       // false: no download on its account
  bool threadless = false;                      // `memory`: the worker itself discards the frame
  uint32_t every = 1;                           // takes every n-th processed frame
  uint32_t queue = 4;                           // frames
  SinkFull on_full = SinkFull::drop_newest;
};

// How a worker waits. blocking: asleep. spin: awake for some microseconds around the time at which a steady source's
// next frame is expected, and as long as a device works on a frame.
enum class Wait : uint8_t { blocking, spin };

struct ThreadPolicy {
  std::vector<uint32_t> cpus;  // affinity; empty: any
  uint32_t fifo_priority = 0;  // SCHED_FIFO 1..99; 0: SCHED_OTHER
  int nice = 0;
};

struct RetryPolicy {  // jittered exponential backoff, for ever
  int64_t first_ns = 200'000'000;
  int64_t most_ns = 10'000'000'000;
};

struct ChannelSpec {
  std::string name;
  uint32_t cell = 0;  // index of its ChannelBlock
  std::function<Result<std::unique_ptr<Source>>()> make_source;
  std::optional<HandlingMode> handling;  // default by the source's traits
  uint32_t slots = 6;
  PipelineSpec pipeline;
  std::vector<SinkSpec> sinks;
  int64_t deadline_ns = 0;  // from arrival to completion; 0: none
  OnOverload on_overload = OnOverload::never;
  Wait wait = Wait::blocking;
  uint32_t in_flight = 1;
  uint32_t threads = 1;
  uint64_t max_memory_bytes = 0;     // ring and output slots; 0: no bound
  DeviceLimits device_limits;        // of its device memory
  bool pinned_required = false;      // memory that the device's copies would have to be staged for is an error
  int64_t stall_ns = 5'000'000'000;  // live sources: no frame for so long is `stalled`
  ThreadPolicy thread_policy;
  RetryPolicy retry;
  bool start = true;
  bool after_device_loss = false;  // its former engine lost the device
};

// An edge: a state change or an error. Thread-safety: a value.
struct Event {
  std::string channel;  // empty: the engine
  ChannelState state = ChannelState::idle;
  ErrorCode code = ErrorCode::ok;
  std::string message;
  MonotonicNs time_ns = 0;
  int32_t sink = -1;  // whose error it is, by its place in the specification; -1: not a sink's
};

// Thread-safety: on_event() is called from any native thread and must not block.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void on_event(Event event) noexcept = 0;
};

class CompileService;

// States: idle -> starting (the source is opened) -> compiling -> starting (memory, sinks, source) -> running ->
// {stalled, backoff, faulted, finished, stopped}. `faulted` and `finished` last until a command.
// The worker thread runs the whole life: it opens the source, has the pipeline compiled by the compile
// service, allocates ring and output slots, runs frames, and on a failure waits and tries again.
// Thread-safety: commands may come from any one control thread; they are applied by the worker at a
// frame boundary. The destructor stops the channel and joins its threads.
class Channel {
 public:
  Channel(ChannelSpec spec, Device& device, CompileService& compile, stats::ChannelBlock& block, EventListener& events);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void start();
  void stop();  // returns at once; ends in `stopped`
  void join();  // waits for the worker to be stopped
  void restart();
  // Takes effect at the next frame boundary. Checked against the running pipeline's parameters.
  Status set_parameter(const std::string& name, double value);
  [[nodiscard]] std::vector<ParameterInfo> parameters() const;
  // Compiles aside; the old pipeline serves until the new one is there. On failure it goes on serving.
  void replace_pipeline(PipelineSpec spec);
  [[nodiscard]] ChannelState state() const noexcept;
  [[nodiscard]] const ChannelSpec& spec() const noexcept;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace framelane
