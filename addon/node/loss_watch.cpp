#include "node/loss_watch.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "core/frame.h"

namespace framelane::node {

LossWatch::LossWatch(std::string device, EventListener& events, stats::EngineBlock& block, bool ends_process)
    : device_(std::move(device)), events_(events), block_(block) {
  if (ends_process) thread_ = std::thread([this] { run(); });
}

LossWatch::~LossWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void LossWatch::on_event(Event event) noexcept {
  const bool tells_loss = event.code == ErrorCode::device_lost;
  const Error why{event.code, tells_loss ? event.message : std::string()};
  events_.on_event(std::move(event));
  if (tells_loss) device_lost(why);
}

void LossWatch::device_lost(const Error& why) noexcept {
  if (lost_.exchange(true)) return;
  block_.device.losses.fetch_add(1, std::memory_order_relaxed);
  events_.on_event(
      {{}, ChannelState::faulted, ErrorCode::device_lost, device_ + " is lost: " + why.message, monotonic_now_ns()});
  {
    const std::lock_guard lock(mutex_);
  }
  changed_.notify_one();
}

void LossWatch::run() {
  constexpr auto kFlushTime = std::chrono::milliseconds(500);
  pthread_setname_np(pthread_self(), "fl-loss-watch");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || lost_.load(); });
  if (!lost_.load()) return;
  // A stop that hangs in the driver gets no further than this either.
  changed_.wait_for(lock, kFlushTime, [] { return false; });
  ::_exit(kDeviceLostExit);
}

}  // namespace framelane::node
