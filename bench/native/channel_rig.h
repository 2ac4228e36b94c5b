// One whole channel for a measurement: pattern source as fast as it can, CPU pipeline, memory sink.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/channel.h"
#include "core/compile_service.h"
#include "core/device.h"
#include "core/stats_block.h"
#include "native/workloads.h"

namespace framelane::bench {

// Keeps a channel's last state and error. Thread-safety: any thread.
class StateWatch final : public EventListener {
 public:
  void on_event(Event event) noexcept override;
  // Waits for `running`; an error when the channel ends up elsewhere.
  [[nodiscard]] Status await_running();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Event last_;
};

// The statistics block in a file of its own, as the service has it. Thread-safety: a value.
struct StatsFile {
  [[nodiscard]] static Result<StatsFile> create();

  std::unique_ptr<stats::StatsBlock> block;  // the file itself is gone already
};

// Thread-safety: one thread.
class ChannelRig {
 public:
  static constexpr uint32_t kSlots = 6;

  [[nodiscard]] static Result<std::unique_ptr<ChannelRig>> create(const Workload& workload, uint32_t threads,
                                                                  Device& device);
  ~ChannelRig();
  ChannelRig(const ChannelRig&) = delete;
  ChannelRig& operator=(const ChannelRig&) = delete;

  // Starts the channel, measures frames per second over about so long, stops it again.
  [[nodiscard]] Result<double> run(int64_t duration_ns);

 private:
  explicit ChannelRig(StatsFile stats) : stats_(std::move(stats)), block_(*stats_.block->channel(0)) {}
  struct Progress {
    uint64_t processed = 0;
    MonotonicNs last_ns = 0;
  };
  [[nodiscard]] Progress progress() const noexcept;

  StatsFile stats_;
  stats::ChannelBlock& block_;
  StateWatch watch_;
  CompileService compile_{1};
  std::unique_ptr<Channel> channel_;
};

}  // namespace framelane::bench
