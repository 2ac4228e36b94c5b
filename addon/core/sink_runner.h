// A sink's own thread and queue.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "core/attention.h"
#include "core/backoff.h"
#include "core/channel.h"
#include "core/event_reporter.h"
#include "core/output_pool.h"
#include "core/overwrite_queue.h"

namespace framelane {

struct SinkRunnerConfig {
  std::string channel;
  SinkSpec spec;
  FrameFormat format;
  RetryPolicy retry;
  int32_t index = 0;  // in the channel's specification
};

// Takes frames from a bounded queue and writes them; opens the sink again with backoff when it fails, and counts
// what it could not write meanwhile. Neither a slow nor a failing sink holds its channel up, except with
// SinkFull::wait, and then only while the sink works.
// Thread-safety: constructor, offer(), ask_to_finish(), finish() and destructor on the
// worker's thread, or on the successor's once it has been handed over.
class SinkRunner {
 public:
  // `predecessor` may be null; else this runner's thread first finishes it and goes on with its sink: that is how
  // a sink meets another format without the channel waiting for it. `cells` outlives the runner.
  SinkRunner(SinkRunnerConfig config, std::shared_ptr<OutputPool> pool, stats::SinkGroup& cells, EventReporter& events,
             std::shared_ptr<Attention> attention, std::unique_ptr<SinkRunner> predecessor);
  ~SinkRunner();
  SinkRunner(const SinkRunner&) = delete;
  SinkRunner& operator=(const SinkRunner&) = delete;

  // Queues a frame that the caller holds too. `leave` ends a wait for room. Counts what is dropped.
  void offer(uint32_t slot, const std::function<bool()>& leave) noexcept;

  // Lets several sinks finish at the same time; finish() then waits for this one.
  void ask_to_finish() noexcept;
  // Writes what is queued, for a second at most, closes the sink, joins the thread; the rest is counted as dropped.
  void finish() noexcept;

 private:
  void run();
  void take_over_predecessor();
  void serve(uint32_t slot);
  void open();
  void close();
  void fail(const Error& error);
  void drop() noexcept;

  // Fixed.
  const SinkRunnerConfig config_;
  const std::shared_ptr<OutputPool> pool_;
  stats::SinkGroup& cells_;  // `dropped` is the worker's, the others the sink thread's
  EventReporter& events_;
  const std::shared_ptr<Attention> attention_;

  // Both threads.
  OverwriteQueue queue_;
  Signal signal_;  // the sink's thread sleeps here
  std::atomic<bool> finishing_{false};
  std::atomic<MonotonicNs> finish_by_ns_{0};

  // The sink's thread.
  std::unique_ptr<SinkRunner> predecessor_;
  std::unique_ptr<Sink> sink_;
  bool open_ = false;
  MonotonicNs opened_ns_ = 0;
  MonotonicNs retry_ns_ = 0;
  Backoff backoff_;
  LimitedReport errors_;

  std::thread thread_;
};

}  // namespace framelane
