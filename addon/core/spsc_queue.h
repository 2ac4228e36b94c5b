// A bounded queue between two threads.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

namespace framelane {

// Holds small trivially copyable values; the capacity is rounded up to a power of two.
// Thread-safety: push() by one producer, pop() by one consumer, size() by any thread.
template <typename T>
class SpscQueue {
 public:
  explicit SpscQueue(uint32_t capacity)
      : mask_(std::bit_ceil(uint64_t{capacity}) - 1), items_(std::make_unique<std::atomic<T>[]>(mask_ + 1)) {}

  [[nodiscard]] bool push(T item) noexcept {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) > mask_) return false;
    items_[tail & mask_].store(item, std::memory_order_relaxed);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  [[nodiscard]] std::optional<T> pop() noexcept {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return std::nullopt;
    const T item = items_[head & mask_].load(std::memory_order_relaxed);
    head_.store(head + 1, std::memory_order_release);
    return item;
  }

  [[nodiscard]] uint32_t size() const noexcept {
    const uint64_t head = head_.load(std::memory_order_acquire);
    return static_cast<uint32_t>(tail_.load(std::memory_order_acquire) - head);
  }

 private:
  const uint64_t mask_;
  const std::unique_ptr<std::atomic<T>[]> items_;
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace framelane
