#include <algorithm>

#include "core/memory_mapping.h"
#include "cuda/device_cache.h"
#include "cuda/stream_cache.h"

namespace framelane::cuda {
namespace {

constexpr size_t kChunkBytes = size_t{64} << 20;
constexpr size_t kNamedHolders = 3;

void raise_to(std::atomic<uint64_t>& high_water, uint64_t value) {
  if (high_water.load(std::memory_order_relaxed) < value) high_water.store(value, std::memory_order_relaxed);
}

}  // namespace

Result<Block*> DeviceCache::obtain(StreamCache& stream, uint32_t size_class, bool capturing) noexcept {
  const size_t bytes = class_bytes(size_class);
  Lock lock(mutex_);
  if (!make_room_in_channel(stream, bytes, capturing)) return refusal(stream, bytes, capturing, true);
  Found found = find_block(lock, stream, size_class, capturing);
  if (found.block == nullptr && found.failed) {
    reclaim(lock, stream, bytes, capturing);
    found = find_block(lock, stream, size_class, capturing);
  }
  if (!found.failed) return found.failed.error();
  if (found.block == nullptr) return refusal(stream, bytes, capturing, false);
  assign(*found.block, stream);
  return found.block;
}

bool DeviceCache::make_room_in_channel(StreamCache& stream, size_t bytes, bool capturing) {
  const ChannelAccount& channel = *stream.channel_;
  const auto fits = [&] { return channel.limits.allow(channel.bytes + bytes, channel.buffers + 1); };
  if (!fits() && !capturing) collect(stream, Collect::everything);
  for (StreamCache* const other : streams_) {
    if (fits() || capturing) break;
    if (other->channel_ == &channel) collect(*other, Collect::unneeded);
  }
  return fits();
}

bool DeviceCache::make_room_on_device(size_t bytes, bool capturing) {
  const auto fits = [&] {
    return limits_.allow(kept_bytes_.load(std::memory_order_relaxed) + bytes,
                         kept_buffers_.load(std::memory_order_relaxed) + 1);
  };
  if (fits()) return true;
  if (!capturing) shared_.ask_events();
  return_idle(monotonic_now_ns());
  return fits();
}

DeviceCache::Found DeviceCache::find_block(Lock& lock, StreamCache& stream, uint32_t size_class, bool capturing) {
  if (Block* const block = shared_.take_ready(size_class, stream.stream_id_); block != nullptr) return {block, {}};
  const size_t bytes = class_bytes(size_class);
  const bool room = make_room_on_device(bytes, capturing);
  if (room) {
    if (Block* const block = cut(size_class); block != nullptr) return {block, {}};
  }
  if (capturing) return {};
  if (Found found = take_over(stream, size_class); found.block != nullptr || !found.failed) return found;
  if (!room) return {};
  if (Status grown = grow(lock, bytes); !grown) return {nullptr, grown};
  return {make_room_on_device(bytes, capturing) ? cut(size_class) : nullptr, {}};
}

DeviceCache::Found DeviceCache::take_over(StreamCache& stream, uint32_t size_class) {
  Block* const block = shared_.take_pending(size_class);
  if (block == nullptr) return {};
  if (!events_.ask(*block->event)) {
    const CUresult result = driver_.cuStreamWaitEvent(stream.stream_, block->event->event, 0);
    if (result != CUDA_SUCCESS) {
      shared_.add(*block, block->event, monotonic_now_ns());
      return {nullptr, driver_.error("cuStreamWaitEvent", result)};
    }
    event_waits_.add(1);
  }
  shared_.forget_event(*block);
  return {block, {}};
}

Block* DeviceCache::cut(uint32_t size_class) {
  const size_t bytes = class_bytes(size_class);
  const CUdeviceptr address = memory_.cut(bytes);
  if (address == 0) return nullptr;
  Block* const block = blocks_.add();
  if (block == nullptr) {
    memory_.join(address, bytes, monotonic_now_ns());
    return nullptr;
  }
  block->address.store(address, std::memory_order_relaxed);
  block->size_class = size_class;
  block->armed = block->poisoned = false;
  by_address_.emplace(address, block->index);
  // The mark first: whoever reads a count sees a mark that is no lower.
  raise_to(high_water_bytes_, kept_bytes_.load(std::memory_order_relaxed) + bytes);
  raise_to(high_water_buffers_, kept_buffers_.load(std::memory_order_relaxed) + 1);
  kept_bytes_.fetch_add(bytes, std::memory_order_release);
  kept_buffers_.fetch_add(1, std::memory_order_release);
  return block;
}

Status DeviceCache::grow(Lock& lock, size_t bytes) {
  const size_t least = (bytes + kDriverPage - 1) / kDriverPage * kDriverPage;
  size_t wanted = std::max(least, kChunkBytes);
  if (const uint64_t most = limits_.get().max_bytes; most != 0) {
    const uint64_t taken = chunk_bytes_.load(std::memory_order_relaxed);
    // The bound counts what is kept in blocks; the driver's pages may round it up by less than one.
    const uint64_t left = most + kDriverPage - 1 > taken ? (most + kDriverPage - 1 - taken) : 0;
    wanted = std::min<uint64_t>(wanted, left / kDriverPage * kDriverPage);
    if (wanted < least) return {};
  }
  chunk_bytes_.fetch_add(wanted, std::memory_order_relaxed);
  lock.unlock();
  CUdeviceptr address = 0;
  size_t got = wanted;
  CUresult result = driver_.cuMemAlloc(&address, got);
  if (result == CUDA_ERROR_OUT_OF_MEMORY && wanted > least) result = driver_.cuMemAlloc(&address, got = least);
  lock.lock();
  if (result != CUDA_SUCCESS) got = 0;
  chunk_bytes_.fetch_sub(wanted - got, std::memory_order_relaxed);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return {};
  if (result != CUDA_SUCCESS) return driver_.error("cuMemAlloc", result);
  allocations_.fetch_add(1, std::memory_order_relaxed);
  memory_.add_chunk({address, got, false}, monotonic_now_ns());
  return {};
}

void DeviceCache::assign(Block& block, StreamCache& stream) noexcept {
  block.channel = stream.channel_;
  block.channel->bytes += block.bytes();
  ++block.channel->buffers;
  block.stream_id = stream.stream_id_;
  block.owner.store(stream.serial_, std::memory_order_release);
}

Error DeviceCache::refusal(const StreamCache& stream, size_t bytes, bool capturing, bool channel_full) const {
  const std::string wish =
      "channel '" + stream.channel() + "' gets no " + describe_bytes(bytes) + " of device memory: ";
  const ChannelAccount& channel = *stream.channel_;
  const auto bounds = [](const MemoryLimits& limits, uint64_t used_bytes, uint64_t used_buffers) {
    const auto of = [](uint64_t bound, const std::string& text) { return bound == 0 ? "" : " of at most " + text; };
    return describe_bytes(used_bytes) + of(limits.max_bytes, describe_bytes(limits.max_bytes)) + " in " +
           std::to_string(used_buffers) + of(limits.max_buffers, std::to_string(limits.max_buffers)) + " buffers";
  };
  if (channel_full)
    return {ErrorCode::over_limit, wish + "it has " + bounds(channel.limits.get(), channel.bytes, channel.buffers)};
  if (capturing)
    return {ErrorCode::device_failed,
            wish + "only the driver could give more, and it must not be asked while a graph is captured"};
  const uint64_t kept_bytes = kept_bytes_.load(std::memory_order_relaxed);
  const uint64_t kept_buffers = kept_buffers_.load(std::memory_order_relaxed);
  // A bound of ours, whether it counts blocks or what was taken for them.
  const uint64_t most = limits_.get().max_bytes;
  const bool bounded = !limits_.allow(kept_bytes + bytes, kept_buffers + 1) ||
                       (most != 0 && chunk_bytes_.load(std::memory_order_relaxed) + bytes > most);
  return {ErrorCode::out_of_memory,
          wish + "the device has given " + bounds(limits_.get(), kept_bytes, kept_buffers) +
              " (taken from the driver: " + describe_bytes(chunk_bytes_.load(std::memory_order_relaxed)) +
              (bounded ? "" : ", which gives no more") + "); " + holders()};
}

std::string DeviceCache::holders() const {
  std::vector<const ChannelAccount*> most;
  uint64_t of_channels = 0;
  for (const auto& [name, account] : channels_) {
    most.push_back(&account);
    of_channels += account.bytes;
  }
  const auto named = std::min(most.size(), kNamedHolders);
  std::partial_sort(most.begin(), most.begin() + static_cast<ptrdiff_t>(named), most.end(),
                    [](const ChannelAccount* a, const ChannelAccount* b) { return a->bytes > b->bytes; });
  std::string text;
  for (size_t i = 0; i < named && most[i]->bytes > 0; ++i)
    text += (i == 0 ? "most is held by '" : ", '") + most[i]->name + "' (" + describe_bytes(most[i]->bytes) + " in " +
            std::to_string(most[i]->buffers) + " buffers)";
  const uint64_t kept = kept_bytes_.load(std::memory_order_relaxed);
  return (text.empty() ? "no channel holds any" : text) + "; " + describe_bytes(kept - std::min(kept, of_channels)) +
         " are free";
}

}  // namespace framelane::cuda
