#include "halide/arena.h"

#include <cstdlib>
#include <new>

#include "halide/thread_pool.h"

namespace framelane::halide {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMostBytes = size_t{1} << 32;  // of a block; compiled code addresses with 32 bits

// Eight sizes for each doubling: at most an eighth is wasted, and rows of slightly different strips share blocks.
size_t size_class(size_t bytes) noexcept {
  size_t step = kAlignment;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

}  // namespace

// Lies in the 64 bytes before the memory it describes; 64 more follow that memory.
struct alignas(kAlignment) Arena::Block {
  Block* next;
  size_t bytes;
  uint32_t owner;
  bool in_task;
};

Arena::Arena(uint32_t threads) : lanes_(threads) {}

Arena::~Arena() {
  for (Lane& lane : lanes_) {
    for (Block* block : {lane.free[0], lane.free[1], lane.returned.load(std::memory_order_acquire)}) {
      while (block != nullptr) {
        Block* next = block->next;
        std::free(block);
        block = next;
      }
    }
  }
}

Arena::Block* Arena::make_block(size_t bytes, uint32_t owner, bool in_task) noexcept {
  const size_t whole = sizeof(Block) + bytes + kAlignment;
  void* memory = std::aligned_alloc(kAlignment, whole);
  if (memory == nullptr) return nullptr;
  bytes_held_.fetch_add(whole, std::memory_order_relaxed);
  blocks_.fetch_add(1, std::memory_order_relaxed);
  return new (memory) Block{nullptr, bytes, owner, in_task};
}

void Arena::keep(Lane& lane, Block* block) noexcept {
  Block** place = &lane.free[block->in_task ? 1 : 0];
  while (*place != nullptr && (*place)->bytes < block->bytes) place = &(*place)->next;
  block->next = *place;
  *place = block;
}

void* Arena::allocate(size_t bytes) noexcept {
  if (bytes > kMostBytes) return nullptr;
  const uint32_t self = ThreadPool::participant();
  Lane& lane = lanes_[self];
  Block* returned = lane.returned.exchange(nullptr, std::memory_order_acquire);
  while (returned != nullptr) {
    Block* next = returned->next;
    keep(lane, returned);
    returned = next;
  }
  const bool in_task = ThreadPool::inside();
  for (Block** place = &lane.free[in_task ? 1 : 0]; *place != nullptr; place = &(*place)->next) {
    if ((*place)->bytes < bytes) continue;
    Block* found = *place;
    *place = found->next;
    return found + 1;
  }
  const size_t whole = size_class(bytes);
  Block* mine = make_block(whole, self, in_task);
  if (mine == nullptr) return nullptr;
  for (uint32_t other = 0; in_task && other < lanes_.size(); ++other) {
    Block* spare = other == self ? nullptr : make_block(whole, other, true);
    if (spare != nullptr) release(spare + 1);
  }
  return mine + 1;
}

void Arena::release(void* data) noexcept {
  if (data == nullptr) return;
  Block* block = static_cast<Block*>(data) - 1;
  Lane& lane = lanes_[block->owner];
  if (block->owner == ThreadPool::participant()) {
    keep(lane, block);
    return;
  }
  block->next = lane.returned.load(std::memory_order_relaxed);
  while (!lane.returned.compare_exchange_weak(block->next, block, std::memory_order_release)) {
  }
}

}  // namespace framelane::halide
