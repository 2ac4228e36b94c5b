#include "cuda/stream_cache.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace framelane::cuda {
namespace {

constexpr size_t kFirstKnown = 256;

// Multiplicative hashing: the high bits of the product.
size_t slot_of(CUdeviceptr address, uint32_t shift) {
  return static_cast<size_t>((address / kBlockAlignment) * 0x9e3779b97f4a7c15u >> shift);
}

}  // namespace

StreamCache::StreamCache(DeviceCache& device, CUstream stream, uint64_t stream_id, uint32_t serial)
    : device_(device),
      blocks_(device.blocks_),
      driver_(device.driver_),
      front_bytes_(device.front_bytes()),
      plain_(!device.debug_ && device.observer_ == nullptr),
      stream_(stream),
      stream_id_(stream_id),
      serial_(serial),
      known_(kFirstKnown),
      known_shift_(64 - std::bit_width(kFirstKnown - 1)) {}

StreamCache::~StreamCache() {
  abort_hold();
  device_.close(*this);
}

const std::string& StreamCache::channel() const noexcept {
  return channel_->name;
}

Result<CUdeviceptr> StreamCache::allocate(size_t bytes) noexcept {
  const uint32_t size_class = size_class_of(bytes);
  if (plain_ && !holding_ && size_class < kSizeClasses) [[likely]] {
    if (Block* const block = lists_[size_class].pop(blocks_); block != nullptr) [[likely]] {
      counters_->hits.add(1);
      return hand_out(*block);
    }
  }
  return allocate_slowly(bytes);
}

Status StreamCache::release(CUdeviceptr pointer) noexcept {
  if (plain_ && !holding_) [[likely]] {
    Block* const block = find(pointer);
    if (block != nullptr && block->in_use.exchange(false, std::memory_order_relaxed)) [[likely]] {
      take_back(*block);
      return {};
    }
  }
  return release_slowly(pointer);
}

CUdeviceptr StreamCache::hand_out(Block& block) noexcept {
  block.in_use.store(true, std::memory_order_relaxed);
  counters_->bytes_given.add(block.bytes());
  const CUdeviceptr address = block.address.load(std::memory_order_relaxed);
  if (!block.held) driver_.annotate(address, block.bytes(), BlockState::given, stream_id_);
  return address + front_bytes_;
}

void StreamCache::take_back(Block& block) noexcept {
  counters_->bytes_released.add(block.bytes());
  if (!block.held)
    driver_.annotate(block.address.load(std::memory_order_relaxed), block.bytes(), BlockState::returned, stream_id_);
  (block.held ? hold_lists_ : lists_)[block.size_class].push(block);
}

Result<Block*> StreamCache::find_free(uint32_t size_class) noexcept {
  if (holding_) {
    if (Block* const block = hold_lists_[size_class].pop(blocks_); block != nullptr) return block;
  }
  if (Block* const block = lists_[size_class].pop(blocks_); block != nullptr) return block;
  counters_->misses.add(1);
  Result<Block*> obtained = device_.obtain(*this, size_class, holding_);
  if (obtained) remember(*obtained.value());
  return obtained;
}

Result<CUdeviceptr> StreamCache::allocate_slowly(size_t bytes) noexcept {
  const size_t guarded = guards_ == nullptr ? bytes : front_bytes_ + bytes + BlockGuards::kRearBytes;
  const uint64_t misses = counters_->misses.get();
  Result<Block*> found =
      bytes > kLargestBlock || size_class_of(guarded) >= kSizeClasses
          ? Error{ErrorCode::invalid_argument, "no block of device memory has " + std::to_string(bytes) + " bytes"}
          : find_free(size_class_of(guarded));
  if (!found) {
    counters_->failures.add(1);
    return found.error();
  }
  if (counters_->misses.get() == misses) counters_->hits.add(1);
  Block& block = *found.value();
  const CUdeviceptr pointer = hand_out(block);
  if (holding_) {
    block.armed = block.poisoned = false;  // the graph writes to it whenever it is replayed
    if (!std::exchange(block.held, true)) block.following = std::exchange(first_held_, &block);
  } else if (guards_ != nullptr) {
    if (Status armed = guards_->arm(block, bytes, channel()); !armed) {
      device_.misuses_.fetch_add(1, std::memory_order_relaxed);
      block.in_use.store(false, std::memory_order_relaxed);
      take_back(block);
      return armed.error();
    }
  }
  if (device_.observer_ != nullptr) device_.observer_->given(pointer, bytes);
  return pointer;
}

Status StreamCache::release_slowly(CUdeviceptr pointer) noexcept {
  Block* const block = find(pointer - front_bytes_);
  if (block == nullptr || !block->in_use.exchange(false, std::memory_order_relaxed))
    return device_.release_from(this, pointer);
  if (device_.observer_ != nullptr) device_.observer_->returned(pointer);
  Status status;
  if (holding_) {
    block->armed = block->poisoned = false;
  } else if (guards_ != nullptr) {
    status = guards_->disarm(*block, channel());
    if (!status) device_.misuses_.fetch_add(1, std::memory_order_relaxed);
  }
  take_back(*block);
  return status;
}

Status StreamCache::prepare(std::span<const size_t> sizes) noexcept {
  std::vector<CUdeviceptr> taken;
  taken.reserve(sizes.size());
  Status status;
  for (const size_t bytes : sizes) {
    const Result<CUdeviceptr> block = allocate(bytes);
    if (!block) {
      status = block.error();
      break;
    }
    taken.push_back(block.value());
  }
  for (const CUdeviceptr block : taken) {
    if (Status released = release(block); !released && status) status = released;
  }
  return status;
}

Block* StreamCache::find(CUdeviceptr address) const noexcept {
  const size_t mask = known_.size() - 1;
  for (size_t at = slot_of(address, known_shift_);; ++at) {
    const Known& known = known_[at & mask];
    if (known.index == 0) return nullptr;
    if (known.address != address) continue;
    Block& block = blocks_.at(known.index);
    // In this order: what is ours and in use does not change under us.
    const bool ours = block.owner.load(std::memory_order_acquire) == serial_ &&
                      block.in_use.load(std::memory_order_relaxed) &&
                      block.address.load(std::memory_order_relaxed) == address;
    return ours ? &block : nullptr;
  }
}

void StreamCache::place(const Block& block) noexcept {
  const CUdeviceptr address = block.address.load(std::memory_order_relaxed);
  const size_t mask = known_.size() - 1;
  size_t at = slot_of(address, known_shift_);
  while (known_[at & mask].index != 0 && known_[at & mask].address != address) ++at;
  Known& known = known_[at & mask];
  if (known.index == 0) ++known_count_;
  known = {address, block.index};
}

void StreamCache::remember(const Block& block) {
  if ((known_count_ + 1) * 2 > known_.size()) {
    // Most of it may be blocks that others have by now: it grows only where that does not help.
    const std::vector<Known> before = std::move(known_);
    std::vector<uint32_t> ours;
    for (const Known& known : before) {
      if (known.index != 0 && blocks_.at(known.index).owner.load(std::memory_order_relaxed) == serial_)
        ours.push_back(known.index);
    }
    known_.assign(std::max(kFirstKnown, std::bit_ceil((ours.size() + 1) * 4)), Known{});
    known_shift_ = static_cast<uint32_t>(64 - std::bit_width(known_.size() - 1));
    known_count_ = 0;
    for (const uint32_t index : ours) place(blocks_.at(index));
  }
  place(block);
}

Status StreamCache::begin_hold() noexcept {
  const std::lock_guard lock(device_.mutex_);
  if (holding_) return Error{ErrorCode::internal, "a graph is being captured already on this stream's memory"};
  device_.shared_.ask_events();  // within the capture nobody may
  holding_ = true;
  return {};
}

void StreamCache::leave_hold(BlockEvent* event) noexcept {
  for (FreeList& list : hold_lists_) list.clear();
  for (Block* block = first_held_; block != nullptr; block = block->following) {
    if (block->in_use.load(std::memory_order_relaxed)) counters_->bytes_released.add(block->bytes());
    block->owner.store(0, std::memory_order_release);
    block->event = event;
    block->stream_id = stream_id_;
    device_.events_.add(*event);
    device_.held_bytes_.fetch_add(block->bytes(), std::memory_order_relaxed);
  }
  first_held_ = nullptr;
  holding_ = false;
}

Result<HeldBlocks> StreamCache::end_hold() noexcept {
  Result<BlockEvent*> event = Error{};
  {
    const std::lock_guard lock(device_.mutex_);
    if (!holding_) return Error{ErrorCode::internal, "no graph is being captured on this stream's memory"};
    event = device_.events_.record(stream_);
    if (event) {
      Block* const first = first_held_;
      leave_hold(event.value());
      device_.events_.drop(*event.value(), 0);
      return HeldBlocks(device_, first);
    }
  }
  abort_hold();
  return event.error();
}

void StreamCache::abort_hold() noexcept {
  const std::lock_guard lock(device_.mutex_);
  if (!holding_) return;
  for (FreeList& list : hold_lists_) list.clear();
  for (Block* block = std::exchange(first_held_, nullptr); block != nullptr;) {
    Block* const following = std::exchange(block->following, nullptr);
    block->held = false;
    if (!block->in_use.load(std::memory_order_relaxed)) {
      driver_.annotate(block->address.load(std::memory_order_relaxed), block->bytes(), BlockState::returned,
                       stream_id_);
      lists_[block->size_class].push(*block);
    }
    block = following;
  }
  holding_ = false;
}

HeldBlocks::HeldBlocks(HeldBlocks&& other) noexcept
    : device_(other.device_), first_(std::exchange(other.first_, nullptr)) {}

HeldBlocks& HeldBlocks::operator=(HeldBlocks&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(first_, other.first_);
  return *this;
}

HeldBlocks::~HeldBlocks() {
  if (first_ != nullptr) (void)device_->release_held(first_, nullptr);
}

Status HeldBlocks::give_back(CUstream stream) noexcept {
  Block* const first = std::exchange(first_, nullptr);
  return first == nullptr ? Status() : device_->release_held(first, &stream);
}

uint64_t HeldBlocks::bytes() const noexcept {
  uint64_t sum = 0;
  for (const Block* block = first_; block != nullptr; block = block->following) sum += block->bytes();
  return sum;
}

uint32_t HeldBlocks::buffers() const noexcept {
  uint32_t count = 0;
  for (const Block* block = first_; block != nullptr; block = block->following) ++count;
  return count;
}

}  // namespace framelane::cuda
