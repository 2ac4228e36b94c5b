// Sees that the device is lost, says so, and ends the process: only a new one gets the device back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/channel.h"
#include "core/device.h"
#include "core/stats_layout.h"

namespace framelane::node {

// The exit code of an engine that ends for the loss of its device (src/engine/forked-engine.ts knows it).
inline constexpr int kDeviceLostExit = 86;

// Stands between the channels and their listener, for a channel may see the loss before the device does.
// Thread-safety: on_event() and device_lost() from any thread; owned by Engine; the destructor joins.
class LossWatch final : public EventListener, public DeviceListener {
 public:
  // `ends_process`: 500 ms after the loss at most, also when every other thread is stuck in the driver. The process's
  // JavaScript ends it earlier, as soon as the event is on its way.
  LossWatch(std::string device, EventListener& events, stats::EngineBlock& block, bool ends_process);
  ~LossWatch() override;
  LossWatch(const LossWatch&) = delete;
  LossWatch& operator=(const LossWatch&) = delete;

  void on_event(Event event) noexcept override;
  void device_lost(const Error& why) noexcept override;

 private:
  void run();

  const std::string device_;
  EventListener& events_;
  stats::EngineBlock& block_;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // there from the start: a process in trouble might get none
};

}  // namespace framelane::node
