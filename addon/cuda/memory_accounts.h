// Who has how much device memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace framelane::cuda {

// Of what is kept, in use or not. Thread-safety: a value.
struct MemoryLimits {
  uint64_t max_bytes = 0;    // 0: no bound
  uint64_t max_buffers = 0;  // 0: no bound
};

// One bound that may change while it is used. Thread-safety: any thread.
struct LiveLimits {
  std::atomic<uint64_t> max_bytes{0}, max_buffers{0};

  void set(const MemoryLimits& limits) noexcept {
    max_bytes.store(limits.max_bytes, std::memory_order_relaxed);
    max_buffers.store(limits.max_buffers, std::memory_order_relaxed);
  }
  [[nodiscard]] MemoryLimits get() const noexcept {
    return {max_bytes.load(std::memory_order_relaxed), max_buffers.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] bool allow(uint64_t bytes, uint64_t buffers) const noexcept {
    const MemoryLimits now = get();
    return (now.max_bytes == 0 || bytes <= now.max_bytes) && (now.max_buffers == 0 || buffers <= now.max_buffers);
  }
};

// Thread-safety: under the mutex of the device's cache, but for the limits: any thread.
struct ChannelAccount {
  std::string name;
  LiveLimits limits;
  uint64_t bytes = 0;  // in use or cached for it
  uint64_t buffers = 0;
  uint32_t streams = 0;
};

// A number with one writer at a time that anybody may read. Thread-safety: add() the owner, get() any thread.
class OwnedCount {
 public:
  void add(uint64_t amount) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// What one StreamCache after another counted; never goes backwards.
// Thread-safety: written by the stream's owner, read by any thread.
struct alignas(64) StreamCounters {
  OwnedCount hits, misses, failures;
  OwnedCount bytes_given, bytes_released;
};

}  // namespace framelane::cuda
