#include <chrono>

#include "core/thread_policy.h"
#include "cuda/device_cache.h"
#include "cuda/stream_cache.h"

namespace framelane::cuda {
namespace {

constexpr std::chrono::microseconds kReclaimPause{200};
// How soon the trim thread looks again at blocks whose streams are still at work while a bound is passed.
constexpr std::chrono::milliseconds kPendingPause{5};

}  // namespace

void DeviceCache::collect(StreamCache& stream, Collect which) noexcept {
  if (stream.holding_) return;  // an event would become part of the graph
  const auto wanted = [&](const FreeList& list) {
    return which == Collect::everything ? list.count() : std::min(list.count(), list.unneeded());
  };
  Block* first = nullptr;  // by `following`
  for (FreeList& list : stream.lists_) {
    uint32_t taken = 0;
    for (const uint32_t most = wanted(list); taken < most; ++taken) {
      Block* const block = list.pop(blocks_);
      if (block == nullptr) break;
      block->following = first;
      first = block;
    }
    if (taken > 0) list.unneeded_taken(taken);
  }
  if (first == nullptr) return;
  Result<BlockEvent*> event = events_.record(stream.stream_);
  const MonotonicNs now = monotonic_now_ns();
  while (first != nullptr) {
    Block& block = *first;
    first = block.following;
    if (event) {
      block.owner.store(0, std::memory_order_release);
      share(block, event.value(), stream.stream_id_, now);
    } else {
      stream.lists_[block.size_class].push(block);
    }
  }
}

void DeviceCache::share(Block& block, BlockEvent* event, uint64_t stream_id, MonotonicNs now) noexcept {
  block.channel->bytes -= block.bytes();
  --block.channel->buffers;
  block.channel = nullptr;
  block.stream_id = stream_id;
  shared_.add(block, event, now);
}

uint64_t DeviceCache::return_idle(MonotonicNs before) {
  const MonotonicNs now = monotonic_now_ns();
  uint64_t blocks = 0;
  while (Block* const block = shared_.take_idle(before)) {
    const CUdeviceptr address = block->address.load(std::memory_order_relaxed);
    by_address_.erase(address);
    memory_.join(address, block->bytes(), now);
    kept_bytes_.fetch_sub(block->bytes(), std::memory_order_relaxed);
    kept_buffers_.fetch_sub(1, std::memory_order_relaxed);
    blocks_.remove(*block);
    ++blocks;
  }
  blocks_trimmed_.add(blocks);
  return blocks;
}

void DeviceCache::free_unused_chunks(Lock& lock, MonotonicNs before) {
  for (;;) {
    const uint64_t most = limits_.get().max_bytes;
    const bool over = most != 0 && memory_.chunk_bytes() >= most + kDriverPage;
    std::optional<DeviceMemory::Chunk> chunk = memory_.take_unused_chunk(over ? monotonic_now_ns() : before, over);
    if (!chunk) return;
    lock.unlock();
    const CUresult result = driver_.cuMemFree(chunk->address);
    lock.lock();
    frees_.fetch_add(1, std::memory_order_relaxed);
    chunk_bytes_.fetch_sub(chunk->bytes, std::memory_order_relaxed);
    // Nobody can tell whether it is still there: nobody gets it any more.
    if (result != CUDA_SUCCESS) return;
  }
}

void DeviceCache::collect_over_limits() {
  for (const Collect which : {Collect::unneeded, Collect::everything}) {
    for (StreamCache* const stream : streams_) {
      const ChannelAccount& channel = *stream->channel_;
      if (!channel.limits.allow(channel.bytes, channel.buffers)) collect(*stream, which);
    }
    const auto over = [&] {
      return !limits_.allow(kept_bytes_.load(std::memory_order_relaxed), kept_buffers_.load(std::memory_order_relaxed));
    };
    shared_.ask_events();
    if (over()) return_idle(monotonic_now_ns());
    for (StreamCache* const stream : streams_) {
      if (!over()) break;
      collect(*stream, which);
      shared_.ask_events();
      return_idle(monotonic_now_ns());
    }
  }
}

void DeviceCache::reclaim(Lock& lock, StreamCache& stream, size_t bytes, bool capturing) {
  if (capturing) {
    return_idle(monotonic_now_ns());
    return;
  }
  for (StreamCache* const other : streams_) collect(*other, other == &stream ? Collect::everything : Collect::unneeded);
  for (uint32_t look = 0;; ++look) {
    shared_.ask_events();
    return_idle(monotonic_now_ns());
    if (look == reclaim_looks_ || shared_.pending() == 0 ||
        (memory_.largest_free() >= bytes && make_room_on_device(bytes, false)))
      return;
    lock.unlock();
    std::this_thread::sleep_for(kReclaimPause);
    lock.lock();
  }
}

void DeviceCache::trim_round(bool everything) {
  Lock lock(mutex_);
  const uint64_t blocks_before = blocks_trimmed_.get(), frees_before = frees_.load(std::memory_order_relaxed);
  for (StreamCache* const stream : streams_) {
    collect(*stream, everything ? Collect::everything : Collect::unneeded);
    for (FreeList& list : stream->lists_) list.watch();
  }
  collect_over_limits();
  const MonotonicNs before = monotonic_now_ns() - (everything ? 0 : trim_after_ns_);
  return_idle(everything ? monotonic_now_ns() : before);
  free_unused_chunks(lock, everything ? monotonic_now_ns() : before);
  if (blocks_trimmed_.get() != blocks_before || frees_.load(std::memory_order_relaxed) != frees_before) trims_.add(1);
}

void DeviceCache::trim_now() noexcept {
  trim_round(true);
}

void DeviceCache::trim() noexcept {
  const std::lock_guard lock(mutex_);
  wanted_ = everything_wanted_ = true;
  wake_.notify_one();
}

void DeviceCache::trim_loop() {
  name_this_thread("fl-trim");
  (void)driver_.cuCtxSetCurrent(context_);
  bool soon = false;
  Lock lock(mutex_);
  MonotonicNs next_round = monotonic_now_ns() + trim_after_ns_;
  while (!ending_) {
    const auto pause = soon ? std::chrono::nanoseconds(kPendingPause)
                            : std::chrono::nanoseconds(std::max<int64_t>(0, next_round - monotonic_now_ns()));
    wake_.wait_for(lock, pause, [&] { return wanted_ || ending_; });
    if (ending_) break;
    const bool everything = everything_wanted_;
    const bool due = monotonic_now_ns() >= next_round;
    wanted_ = everything_wanted_ = false;
    if (everything || due) {
      lock.unlock();
      trim_round(everything);
      lock.lock();
      next_round = monotonic_now_ns() + trim_after_ns_;
    } else {
      collect_over_limits();
      free_unused_chunks(lock, next_round - 2 * trim_after_ns_);
    }
    soon = shared_.pending() > 0 &&
           !limits_.allow(kept_bytes_.load(std::memory_order_relaxed), kept_buffers_.load(std::memory_order_relaxed));
  }
}

}  // namespace framelane::cuda
