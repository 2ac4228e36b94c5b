// Copies what the device reports into the engine's block.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/device.h"
#include "core/stats_layout.h"

namespace framelane::node {

// Four times a second, from a thread of its own, so that a device that holds it up holds up nothing else.
// Thread-safety: set_limits() on the control thread; owned by Engine; the destructor joins.
class DeviceStatistics {
 public:
  // Device and block outlive it.
  DeviceStatistics(const Device& device, const DeviceLimits& limits, stats::EngineBlock& block);
  ~DeviceStatistics();
  DeviceStatistics(const DeviceStatistics&) = delete;
  DeviceStatistics& operator=(const DeviceStatistics&) = delete;

  // What is in force now.
  void show(const DeviceLimits& limits) noexcept;

 private:
  void run();
  void copy();
  void copy_calls();

  const Device& device_;
  stats::EngineBlock& block_;

  // The thread's own.
  DeviceReport before_;  // as of the last copy: counters in the block grow by what came since
  DeviceReport now_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace framelane::node
