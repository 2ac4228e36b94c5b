// Free blocks that no stream has: usable by any stream once the event of their last one has been reached.
#pragma once

#include <array>
#include <cstdint>

#include "cuda/block_events.h"
#include "cuda/device_block.h"

namespace framelane::cuda {

// Thread-safety: under the mutex of the device's cache.
class SharedBlocks {
 public:
  explicit SharedBlocks(BlockEvents& events) : events_(events) {}

  // `event` (nullptr: nothing runs any more) replaces what the block waited for.
  void add(Block& block, BlockEvent* event, MonotonicNs now) noexcept;
  // Asks the events and sorts out what may be used by everybody. Not on a thread that captures.
  void ask_events() noexcept;

  // A block that this stream may use at once; asks no event. nullptr: none.
  [[nodiscard]] Block* take_ready(uint32_t size_class, uint64_t stream_id) noexcept;
  // The block that waits longest; its event is still there: see forget_event(). nullptr: none.
  [[nodiscard]] Block* take_pending(uint32_t size_class) noexcept;
  void forget_event(Block& block) noexcept;
  // A ready block of any class that has been here since `before` or longer, large ones first. nullptr: none.
  [[nodiscard]] Block* take_idle(MonotonicNs before) noexcept;

  [[nodiscard]] uint64_t pending() const noexcept { return pending_; }

 private:
  // Oldest first. Thread-safety: as the whole.
  struct List {
    Block* first = nullptr;
    Block* last = nullptr;
  };
  static void append(List& list, Block& block) noexcept;
  static void unlink(List& list, Block& block) noexcept;
  Block* take(List& list, Block& block) noexcept;

  BlockEvents& events_;
  std::array<List, kSizeClasses> ready_{};
  std::array<List, kSizeClasses> waiting_{};
  uint64_t pending_ = 0;
};

}  // namespace framelane::cuda
