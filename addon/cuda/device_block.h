// One block of device memory as the host knows it, and the lists that free ones wait in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/frame.h"
#include "cuda/driver_types.h"
#include "cuda/size_classes.h"

namespace framelane::cuda {

struct BlockEvent;
struct ChannelAccount;

// Thread-safety: the atomics any thread; `requested_bytes`, `armed`, `poisoned` and `held` whoever has taken the block
// out of a list; the rest under the mutex of the device's cache.
struct alignas(64) Block {
  std::atomic<uint32_t> next{0};   // index in a FreeList
  std::atomic<uint32_t> owner{0};  // serial of the StreamCache that has it; 0: none
  std::atomic<bool> in_use{false};
  std::atomic<CUdeviceptr> address{0};
  uint32_t index = 0;
  uint32_t size_class = 0;
  size_t requested_bytes = 0;
  bool armed = false;     // guard bytes lie around it
  bool poisoned = false;  // nobody should have written since
  bool held = false;      // belongs to a hold, see StreamCache::begin_hold()

  Block* previous = nullptr;  // in the shared level, or in the list of a hold
  Block* following = nullptr;
  BlockEvent* event = nullptr;  // work that may still use it
  uint64_t stream_id = 0;       // of that work
  ChannelAccount* channel = nullptr;
  MonotonicNs idle_since = 0;

  [[nodiscard]] size_t bytes() const noexcept { return class_bytes(size_class); }
};

// All blocks of a device by index; they stay where they are to the end.
// Thread-safety: at() any thread; add() and remove() under the mutex of the device's cache.
class BlockTable {
 public:
  static constexpr uint32_t kMostBlocks = (1u << 20) - 1;

  [[nodiscard]] Block& at(uint32_t index) const noexcept {
    return slabs_[index / kSlabBlocks].load(std::memory_order_relaxed)[index % kSlabBlocks];
  }
  [[nodiscard]] Block* add() {  // nullptr: kMostBlocks are there
    if (unused_ == 0 && !add_slab()) return nullptr;
    Block& block = at(unused_);
    unused_ = block.next.load(std::memory_order_relaxed);
    return &block;
  }
  void remove(Block& block) noexcept {
    block.next.store(unused_, std::memory_order_relaxed);
    unused_ = block.index;
  }
  ~BlockTable() {
    for (const std::atomic<Block*>& slab : slabs_) delete[] slab.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kSlabBlocks = 1024;

  [[nodiscard]] bool add_slab() {
    if (slab_count_ == slabs_.size()) return false;
    Block* const slab = new Block[kSlabBlocks];
    slabs_[slab_count_].store(slab, std::memory_order_relaxed);
    const uint32_t first = slab_count_++ * kSlabBlocks;
    for (uint32_t i = kSlabBlocks; i-- > 0;) {
      slab[i].index = first + i;
      if (slab[i].index != 0) remove(slab[i]);  // 0 ends a list
    }
    return true;
  }

  std::array<std::atomic<Block*>, (kMostBlocks + 1) / kSlabBlocks> slabs_{};
  uint32_t slab_count_ = 0;
  uint32_t unused_ = 0;
};

// Free blocks of one size class, last in first out. Index, count and a tag against reuse in between lie in one word.
// Thread-safety: any thread; no call ever waits for another thread.
class FreeList {
 public:
  void push(Block& block) noexcept {
    uint64_t head = head_.load(std::memory_order_relaxed);
    uint64_t changed = 0;
    do {
      block.next.store(index_of(head), std::memory_order_relaxed);
      changed = pack(block.index, count_of(head) + 1, head);
    } while (!head_.compare_exchange_weak(head, changed, std::memory_order_release, std::memory_order_relaxed));
  }

  // nullptr: it is empty.
  [[nodiscard]] Block* pop(const BlockTable& table) noexcept {
    uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      const uint32_t index = index_of(head);
      if (index == 0) return nullptr;
      Block& block = table.at(index);
      const uint64_t changed = pack(block.next.load(std::memory_order_relaxed), count_of(head) - 1, head);
      if (head_.compare_exchange_weak(head, changed, std::memory_order_acquire, std::memory_order_acquire)) {
        if (const uint32_t left = count_of(changed); left < unneeded_.load(std::memory_order_relaxed))
          unneeded_.store(left, std::memory_order_relaxed);
        return &block;
      }
    }
  }

  // While nobody else pushes or pops.
  void clear() noexcept { head_.store(pack(0, 0, head_.load(std::memory_order_relaxed)), std::memory_order_relaxed); }

  [[nodiscard]] uint32_t count() const noexcept { return count_of(head_.load(std::memory_order_relaxed)); }

  // The fewest blocks that lay here since watch(): so many were not needed. A hint, as other threads go on.
  [[nodiscard]] uint32_t unneeded() const noexcept { return unneeded_.load(std::memory_order_relaxed); }
  void watch() noexcept { unneeded_.store(count(), std::memory_order_relaxed); }
  // So many of the unneeded ones have been taken away.
  void unneeded_taken(uint32_t taken) noexcept {
    const uint32_t before = unneeded();
    unneeded_.store(before > taken ? before - taken : 0, std::memory_order_relaxed);
  }

 private:
  // 20 bits index, 20 bits count, 24 bits tag.
  static uint32_t index_of(uint64_t head) noexcept { return static_cast<uint32_t>(head) & BlockTable::kMostBlocks; }
  static uint32_t count_of(uint64_t head) noexcept {
    return static_cast<uint32_t>(head >> 20) & BlockTable::kMostBlocks;
  }
  static uint64_t pack(uint32_t index, uint32_t count, uint64_t before) noexcept {
    return index | uint64_t{count} << 20 | ((before >> 40) + 1) << 40;
  }

  std::atomic<uint64_t> head_{0};
  std::atomic<uint32_t> unneeded_{0};
};

}  // namespace framelane::cuda
