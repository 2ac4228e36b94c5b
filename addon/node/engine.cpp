#include "node/engine.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <tuple>

#include "node/make_device.h"

namespace framelane::node {

Heartbeat::Heartbeat(stats::EngineBlock& block, uint32_t parent_pid)
    : block_(block), parent_pid_(parent_pid), thread_([this] { run(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Heartbeat::end_with_parent() noexcept {
  constexpr MonotonicNs kGraceNs = 3'000'000'000;
  if (parent_pid_ == 0 || static_cast<uint32_t>(::getppid()) == parent_pid_) return;
  const MonotonicNs now = monotonic_now_ns();
  if (orphaned_since_ == 0) orphaned_since_ = now;
  if (now - orphaned_since_ > kGraceNs) ::_exit(1);
}

void Heartbeat::run() {
  constexpr auto kPeriod = std::chrono::milliseconds(100);
  pthread_setname_np(pthread_self(), "fl-heartbeat");
  std::unique_lock lock(mutex_);
  do {
    block_.heartbeat_ns.store(static_cast<uint64_t>(monotonic_now_ns()), std::memory_order_relaxed);
    end_with_parent();
  } while (!changed_.wait_for(lock, kPeriod, [this] { return stopping_; }));
}

Result<std::unique_ptr<Engine>> Engine::open(const EngineOptions& options, EventListener& events) {
  auto statistics = stats::StatsBlock::open(options.statistics_path);
  if (!statistics) return statistics.error();
  if (statistics.value()->engine(options.engine_cell) == nullptr) {
    return Error{ErrorCode::invalid_argument,
                 "engine cell " + std::to_string(options.engine_cell) + " is outside the statistics block"};
  }
  auto device = make_device(options.device);
  if (!device) return device.error();
  return std::unique_ptr<Engine>(new Engine(statistics.take(), options, device.take(), events));
}

Engine::Engine(std::unique_ptr<stats::StatsBlock> statistics, const EngineOptions& options,
               std::unique_ptr<Device> device, EventListener& events)
    : statistics_(std::move(statistics)),
      block_(*statistics_->engine(options.engine_cell)),
      events_(options.device.id, events, block_, options.owns_process),
      device_(std::move(device)),
      device_statistics_(*device_, options.device.limits, block_),
      compile_(options.compile_threads),
      heartbeat_(block_, options.parent_pid) {
  block_.pid.store(static_cast<uint64_t>(::getpid()), std::memory_order_relaxed);
  block_.starts.fetch_add(1, std::memory_order_relaxed);
  device_->listen(events_);
}

Engine::~Engine() {
  std::ignore = take_all();
}

Status Engine::create(ChannelSpec spec) {
  if (channels_.contains(spec.name)) {
    return Error{ErrorCode::invalid_argument, "there is a channel '" + spec.name + "' already"};
  }
  stats::ChannelBlock* cells = statistics_->channel(spec.cell);
  if (cells == nullptr) {
    return Error{ErrorCode::invalid_argument,
                 "channel cell " + std::to_string(spec.cell) + " is outside the statistics block"};
  }
  // Before the channel's first stream. The CPU has no memory to bound, which is no reason to refuse the channel.
  if (spec.device_limits != DeviceLimits{}) std::ignore = device_->set_limits(spec.name, spec.device_limits);
  const std::string name = spec.name;
  channels_.emplace(name, std::make_unique<Channel>(std::move(spec), *device_, compile_, *cells, events_));
  return {};
}

Status Engine::set_limits(const LimitsOrder& order) {
  Status set = device_->set_limits(order.channel, order.limits);
  if (set && order.channel.empty()) device_statistics_.show(order.limits);
  return set;
}

Channel* Engine::find(const std::string& name) noexcept {
  const auto found = channels_.find(name);
  return found == channels_.end() ? nullptr : found->second.get();
}

std::unique_ptr<Channel> Engine::take(const std::string& name) {
  const auto node = channels_.extract(name);
  return node.empty() ? nullptr : std::move(node.mapped());
}

std::vector<std::unique_ptr<Channel>> Engine::take_all() {
  std::vector<std::unique_ptr<Channel>> taken;
  for (auto& [name, channel] : channels_) {
    channel->stop();
    taken.push_back(std::move(channel));
  }
  channels_.clear();
  return taken;
}

}  // namespace framelane::node
