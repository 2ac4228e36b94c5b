#include "cuda/shared_blocks.h"

namespace framelane::cuda {

void SharedBlocks::append(List& list, Block& block) noexcept {
  block.previous = list.last;
  block.following = nullptr;
  (list.last == nullptr ? list.first : list.last->following) = &block;
  list.last = &block;
}

void SharedBlocks::unlink(List& list, Block& block) noexcept {
  (block.previous == nullptr ? list.first : block.previous->following) = block.following;
  (block.following == nullptr ? list.last : block.following->previous) = block.previous;
  block.previous = block.following = nullptr;
}

void SharedBlocks::add(Block& block, BlockEvent* event, MonotonicNs now) noexcept {
  if (event != nullptr) events_.add(*event);
  forget_event(block);
  block.event = event;
  block.idle_since = now;
  append((event == nullptr ? ready_ : waiting_)[block.size_class], block);
  if (event != nullptr) ++pending_;
}

void SharedBlocks::forget_event(Block& block) noexcept {
  if (block.event != nullptr) events_.drop(*block.event);
  block.event = nullptr;
}

void SharedBlocks::ask_events() noexcept {
  if (pending_ == 0) return;
  events_.ask_all();
  for (uint32_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    for (Block* block = waiting_[size_class].first; block != nullptr;) {
      Block* const following = block->following;
      if (block->event->complete) {
        unlink(waiting_[size_class], *block);
        --pending_;
        forget_event(*block);
        append(ready_[size_class], *block);
      }
      block = following;
    }
  }
}

Block* SharedBlocks::take_ready(uint32_t size_class, uint64_t stream_id) noexcept {
  if (Block* const block = ready_[size_class].first; block != nullptr) {
    unlink(ready_[size_class], *block);
    return block;
  }
  for (Block* block = waiting_[size_class].first; block != nullptr; block = block->following) {
    if (block->stream_id != stream_id) continue;
    unlink(waiting_[size_class], *block);
    --pending_;
    forget_event(*block);  // the stream itself orders the uses
    return block;
  }
  return nullptr;
}

Block* SharedBlocks::take_pending(uint32_t size_class) noexcept {
  Block* const block = waiting_[size_class].first;
  if (block == nullptr) return nullptr;
  unlink(waiting_[size_class], *block);
  --pending_;
  return block;
}

Block* SharedBlocks::take_idle(MonotonicNs before) noexcept {
  for (uint32_t size_class = kSizeClasses; size_class-- > 0;) {
    Block* const block = ready_[size_class].first;
    if (block == nullptr || block->idle_since > before) continue;
    unlink(ready_[size_class], *block);
    return block;
  }
  return nullptr;
}

}  // namespace framelane::cuda
