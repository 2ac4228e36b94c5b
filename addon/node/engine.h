// The engine without JavaScript: the device, the channels, the compile threads, the heartbeat.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/channel.h"
#include "core/compile_service.h"
#include "core/device.h"
#include "core/stats_block.h"
#include "node/convert.h"
#include "node/device_statistics.h"
#include "node/loss_watch.h"

namespace framelane::node {

// Writes the engine's heartbeat cell every 100 ms, from a thread that nothing else can hold up. Ends the process when
// its parent has been gone for three seconds: JavaScript that hangs would never notice.
// Thread-safety: owned by Engine; the destructor joins.
class Heartbeat {
 public:
  Heartbeat(stats::EngineBlock& block, uint32_t parent_pid);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void run();
  void end_with_parent() noexcept;

  stats::EngineBlock& block_;
  const uint32_t parent_pid_;       // 0: no matter
  MonotonicNs orphaned_since_ = 0;  // the thread's own
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

// Thread-safety: called on one control thread (JavaScript's). A channel that was taken may be destroyed
// on any thread, while the engine lives.
class Engine {
 public:
  // `events` outlives the engine.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> open(const EngineOptions& options, EventListener& events);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Status create(ChannelSpec spec);
  // nullptr: no such channel. Valid until the channel is taken.
  [[nodiscard]] Channel* find(const std::string& name) noexcept;
  [[nodiscard]] std::unique_ptr<Channel> take(const std::string& name);
  // All of them; each has been told to stop, so that joining one does not delay another.
  [[nodiscard]] std::vector<std::unique_ptr<Channel>> take_all();

  Status set_limits(const LimitsOrder& order);

  [[nodiscard]] const DeviceInfo& device() const noexcept { return device_->info(); }
  [[nodiscard]] stats::EngineBlock& block() noexcept { return block_; }

 private:
  Engine(std::unique_ptr<stats::StatsBlock> statistics, const EngineOptions& options, std::unique_ptr<Device> device,
         EventListener& events);

  // In the order of construction; channels go first.
  std::unique_ptr<stats::StatsBlock> statistics_;
  stats::EngineBlock& block_;
  LossWatch events_;
  std::unique_ptr<Device> device_;
  DeviceStatistics device_statistics_;
  CompileService compile_;
  Heartbeat heartbeat_;
  std::map<std::string, std::unique_ptr<Channel>> channels_;
};

}  // namespace framelane::node
