#include "node/device_statistics.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/stats_writer.h"

namespace framelane::node {
namespace {

void set(stats::Cell& cell, uint64_t value) noexcept {
  cell.store(value, std::memory_order_release);
}

void write_name(std::span<char> into, std::string_view text) noexcept {
  const size_t length = std::min(text.size(), into.size() - 1);
  std::memcpy(into.data(), text.data(), length);
  std::memset(into.data() + length, 0, into.size() - length);
}

}  // namespace

DeviceStatistics::DeviceStatistics(const Device& device, const DeviceLimits& limits, stats::EngineBlock& block)
    : device_(device), block_(block) {
  show(limits);
  thread_ = std::thread([this] { run(); });
}

DeviceStatistics::~DeviceStatistics() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DeviceStatistics::show(const DeviceLimits& limits) noexcept {
  set(block_.device.max_bytes, limits.max_bytes);
  set(block_.device.max_buffers, limits.max_buffers);
}

void DeviceStatistics::run() {
  constexpr auto kPeriod = std::chrono::milliseconds(250);
  pthread_setname_np(pthread_self(), "fl-device-stats");
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    copy();
    lock.lock();
  } while (!changed_.wait_for(lock, kPeriod, [this] { return stopping_; }));
}

void DeviceStatistics::copy() {
  device_.report(now_);
  stats::DeviceGroup& cells = block_.device;
  set(cells.in_use_bytes, now_.in_use_bytes);
  set(cells.cached_bytes, now_.cached_bytes);
  set(cells.reserved_bytes, now_.reserved_bytes);
  set(cells.high_water_bytes, now_.high_water_bytes);
  set(cells.buffers, now_.buffers);
  set(cells.pinned_bytes, now_.pinned_bytes);
  set(cells.pinned_lent_bytes, now_.pinned_lent_bytes);
  const auto grow = [this](stats::Cell& cell, uint64_t DeviceReport::* count) {
    stats::add_alone(cell, now_.*count - before_.*count);
  };
  grow(cells.hits, &DeviceReport::hits);
  grow(cells.misses, &DeviceReport::misses);
  grow(cells.refusals, &DeviceReport::refusals);
  grow(cells.trims, &DeviceReport::trims);
  grow(cells.pinned_refusals, &DeviceReport::pinned_refusals);
  grow(cells.upload_waits, &DeviceReport::upload_waits);
  grow(cells.download_waits, &DeviceReport::download_waits);
  grow(cells.bus_overruns, &DeviceReport::bus_overruns);
  grow(cells.steady_alarms, &DeviceReport::steady_alarms);
  copy_calls();
  std::swap(before_, now_);
}

void DeviceStatistics::copy_calls() {
  const size_t count = std::min(now_.calls.size(), stats::kDriverFunctions);
  for (size_t i = 0; i < count; ++i) {
    const DriverCalls& function = now_.calls[i];
    stats::DriverFunction& cells = block_.functions[i];
    if (before_.calls.empty()) {
      write_name(cells.kind, function.kind);
      write_name(cells.name, function.function);
    }
    const uint64_t known = i < before_.calls.size() ? before_.calls[i].calls : 0;
    stats::add_alone(cells.calls, function.calls - known);
  }
}

}  // namespace framelane::node
