// A bounded single-producer queue whose oldest item the producer may take back.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

namespace framelane {

// Holds slot indices. The head is a 64-bit count and never wraps, so a compare-and-swap on it cannot be
// fooled by a reused position; an item is overwritten only after the head has passed it.
// Thread-safety: push() by one producer; pop() by the consumer and by the producer; size() by any thread.
class OverwriteQueue {
 public:
  explicit OverwriteQueue(uint32_t capacity)
      : capacity_(capacity),
        mask_(std::bit_ceil(uint64_t{capacity}) - 1),
        items_(std::make_unique<std::atomic<uint32_t>[]>(mask_ + 1)) {}

  [[nodiscard]] bool push(uint32_t item) noexcept {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) >= capacity_) return false;
    items_[tail & mask_].store(item, std::memory_order_relaxed);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  [[nodiscard]] std::optional<uint32_t> pop() noexcept {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (head < tail_.load(std::memory_order_acquire)) {
      const uint32_t item = items_[head & mask_].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, head + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return item;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] uint32_t size() const noexcept {
    const uint64_t head = head_.load(std::memory_order_acquire);
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    const uint64_t waiting = tail - head;  // the tail is read later and may have run ahead meanwhile
    return static_cast<uint32_t>(waiting < capacity_ ? waiting : capacity_);
  }

 private:
  const uint64_t capacity_;
  const uint64_t mask_;
  const std::unique_ptr<std::atomic<uint32_t>[]> items_;
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace framelane
