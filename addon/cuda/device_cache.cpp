#include "cuda/device_cache.h"

#include <algorithm>
#include <system_error>

#include "cuda/stream_cache.h"

namespace framelane::cuda {
namespace {

constexpr uint32_t kFirstEvents = 64;

}  // namespace

DeviceCache::DeviceCache(const Driver& driver, CUcontext context, const DeviceCacheOptions& options)
    : driver_(driver),
      context_(context),
      trim_after_ns_(std::max<int64_t>(options.trim_after_ns, 1'000'000)),
      reclaim_looks_(options.reclaim_looks),
      debug_(options.debug),
      observer_(options.observer),
      events_(driver),
      shared_(events_) {
  limits_.set(options.limits);
}

Result<std::unique_ptr<DeviceCache>> DeviceCache::open(const Driver& driver, CUcontext context,
                                                       const DeviceCacheOptions& options) {
  std::unique_ptr<DeviceCache> cache(new DeviceCache(driver, context, options));
  if (Status prepared = cache->events_.prepare(kFirstEvents); !prepared) return prepared.error();
  uint64_t reserve = options.reserve_bytes;
  if (options.limits.max_bytes != 0) reserve = std::min(reserve, options.limits.max_bytes);
  if (reserve > 0) {
    reserve = (reserve + kDriverPage - 1) / kDriverPage * kDriverPage;
    CUdeviceptr address = 0;
    if (const CUresult result = driver.cuMemAlloc(&address, reserve); result != CUDA_SUCCESS) {
      Error error = driver.error("cuMemAlloc", result);
      error.message = "the reserve of " + std::to_string(reserve >> 20) + " MiB of device memory: " + error.message;
      return error;
    }
    cache->allocations_.fetch_add(1, std::memory_order_relaxed);
    cache->chunk_bytes_.store(reserve, std::memory_order_relaxed);
    cache->memory_.add_chunk({address, reserve, true}, monotonic_now_ns());
  }
  try {
    cache->trimmer_ = std::thread([&owner = *cache] { owner.trim_loop(); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::internal, std::string("no thread to trim device memory: ") + error.what()};
  }
  return cache;
}

DeviceCache::~DeviceCache() {
  if (trimmer_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_one();
    trimmer_.join();
  }
  for (const DeviceMemory::Chunk& chunk : memory_.take_all_chunks()) (void)driver_.cuMemFree(chunk.address);
}

Result<std::unique_ptr<StreamCache>> DeviceCache::open_stream(CUstream stream, const std::string& channel) {
  unsigned long long stream_id = 0;
  if (const CUresult result = driver_.cuStreamGetId(stream, &stream_id); result != CUDA_SUCCESS)
    return driver_.error("cuStreamGetId", result);
  std::unique_ptr<BlockGuards> guards;
  if (debug_) {
    Result<std::unique_ptr<BlockGuards>> opened = BlockGuards::open(driver_, stream);
    if (!opened) return opened.error();
    guards = opened.take();
  }
  const std::lock_guard lock(mutex_);
  if (free_counters_.empty()) {
    const size_t count = all_counters_.size();
    if (count == kMostStreams)
      return Error{ErrorCode::out_of_memory, "a device serves " + std::to_string(count) + " streams, no more"};
    free_counters_.push_back(all_counters_.emplace_back(std::make_unique<StreamCounters>()).get());
    counters_[count].store(free_counters_.back(), std::memory_order_release);
  }
  std::unique_ptr<StreamCache> opened(new StreamCache(*this, stream, stream_id, ++last_serial_));
  opened->guards_ = std::move(guards);
  opened->channel_ = &account(channel);
  ++opened->channel_->streams;
  opened->counters_ = free_counters_.back();
  free_counters_.pop_back();
  streams_.push_back(opened.get());
  return opened;
}

ChannelAccount& DeviceCache::account(const std::string& channel) {
  ChannelAccount& found = channels_[channel];
  found.name = channel;
  return found;
}

void DeviceCache::forget(ChannelAccount& channel) noexcept {
  const MemoryLimits limits = channel.limits.get();
  if (channel.streams == 0 && channel.buffers == 0 && limits.max_bytes == 0 && limits.max_buffers == 0)
    channels_.erase(channels_.find(channel.name));
}

void DeviceCache::close(StreamCache& stream) noexcept {
  const std::lock_guard lock(mutex_);
  BlockEvent* event = nullptr;
  bool idle = false;
  if (Result<BlockEvent*> recorded = events_.record(stream.stream_); recorded)
    event = recorded.value();
  else
    idle = driver_.cuStreamSynchronize(stream.stream_) == CUDA_SUCCESS;
  const MonotonicNs now = monotonic_now_ns();
  for (FreeList& list : stream.lists_) {
    while (Block* const block = list.pop(blocks_)) {
      block->owner.store(0, std::memory_order_release);
      if (event != nullptr || idle)
        share(*block, event, stream.stream_id_, now);
      else
        held_bytes_.fetch_add(block->bytes(), std::memory_order_relaxed);  // nobody can tell when it is free
    }
  }
  for (const StreamCache::Known& known : stream.known_) {
    if (known.index == 0 || blocks_.at(known.index).owner.load(std::memory_order_relaxed) != stream.serial_) continue;
    Block& block = blocks_.at(known.index);  // in use; release_from() takes it
    block.owner.store(0, std::memory_order_release);
    block.stream_id = stream.stream_id_;
    if (event != nullptr) events_.add(*event);
    block.event = event;
    block.held = event == nullptr && !idle;  // as above
  }
  if (event != nullptr) events_.drop(*event, 0);
  streams_.erase(std::find(streams_.begin(), streams_.end(), &stream));
  free_counters_.push_back(stream.counters_);
  --stream.channel_->streams;
  forget(*stream.channel_);
}

Status DeviceCache::release(CUdeviceptr pointer) noexcept {
  return release_from(nullptr, pointer);
}

Status DeviceCache::release_from(const StreamCache* from, CUdeviceptr pointer) noexcept {
  const auto refuse = [&](const std::string& why) {
    misuses_.fetch_add(1, std::memory_order_relaxed);
    return Error{ErrorCode::internal, "device memory cannot be released: " + why};
  };
  const std::lock_guard lock(mutex_);
  const auto found = by_address_.find(pointer - front_bytes());
  if (found == by_address_.end()) return refuse("no block of this device begins at this address");
  Block& block = blocks_.at(found->second);
  const uint32_t owner = block.owner.load(std::memory_order_acquire);
  if (!block.in_use.load(std::memory_order_relaxed)) return refuse("the block is free, it was released before");
  const auto stream = std::find_if(streams_.begin(), streams_.end(),
                                   [&](const StreamCache* candidate) { return candidate->serial_ == owner; });
  if (from != nullptr && stream != streams_.end())
    return refuse("the block belongs to a stream of channel '" + (*stream)->channel() + "', not to one of '" +
                  from->channel() + "'");
  if (!block.in_use.exchange(false, std::memory_order_relaxed)) return refuse("the block was released twice");
  if (owner == 0 && block.held) return {};  // it stays with its graph
  bytes_released_elsewhere_.fetch_add(block.bytes(), std::memory_order_relaxed);
  block.armed = block.poisoned = false;
  if (!block.held) driver_.annotate(found->first, block.bytes(), BlockState::returned, block.stream_id);
  if (owner == 0)
    share(block, block.event, block.stream_id, monotonic_now_ns());
  else
    (block.held ? (*stream)->hold_lists_ : (*stream)->lists_)[block.size_class].push(block);
  return {};
}

Status DeviceCache::release_held(Block* first, const CUstream* last) noexcept {
  const std::lock_guard lock(mutex_);
  BlockEvent* event = nullptr;
  unsigned long long stream_id = 0;
  if (last != nullptr) {
    Result<BlockEvent*> recorded = events_.record(*last);
    if (!recorded) return recorded.error();
    event = recorded.value();
    if (driver_.cuStreamGetId(*last, &stream_id) != CUDA_SUCCESS) stream_id = 0;  // no stream has it
  }
  const MonotonicNs now = monotonic_now_ns();
  for (Block* block = first; block != nullptr;) {
    Block* const following = block->following;
    block->held = false;
    block->in_use.store(false, std::memory_order_relaxed);
    held_bytes_.fetch_sub(block->bytes(), std::memory_order_relaxed);
    driver_.annotate(block->address.load(std::memory_order_relaxed), block->bytes(), BlockState::returned,
                     block->stream_id);
    ChannelAccount& channel = *block->channel;
    share(*block, event != nullptr ? event : block->event, event != nullptr ? stream_id : block->stream_id, now);
    if (following == nullptr) forget(channel);
    block = following;
  }
  if (event != nullptr) events_.drop(*event, 0);
  return {};
}

void DeviceCache::set_limits(const MemoryLimits& limits) noexcept {
  limits_.set(limits);
  const std::lock_guard lock(mutex_);
  wanted_ = true;
  wake_.notify_one();
}

void DeviceCache::set_channel_limits(const std::string& channel, const MemoryLimits& limits) {
  const std::lock_guard lock(mutex_);
  ChannelAccount& changed = account(channel);
  changed.limits.set(limits);
  forget(changed);
  wanted_ = true;
  wake_.notify_one();
}

void DeviceCache::mark_steady() noexcept {
  steady_allocations_.store(allocations_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  steady_frees_.store(frees_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  steady_.store(true, std::memory_order_release);
}

DeviceCacheStatistics DeviceCache::statistics() const noexcept {
  DeviceCacheStatistics now;
  uint64_t released = bytes_released_elsewhere_.load(std::memory_order_relaxed), given = 0;
  for (const auto& slot : counters_) {
    const StreamCounters* const counters = slot.load(std::memory_order_acquire);
    if (counters == nullptr) break;
    released += counters->bytes_released.get();
    given += counters->bytes_given.get();
    now.hits += counters->hits.get();
    now.misses += counters->misses.get();
    now.failures += counters->failures.get();
  }
  const auto of = [](const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  const uint64_t kept = kept_bytes_.load(std::memory_order_acquire);
  // The sums are of different moments: while blocks come and go they may be off by those.
  now.bytes_in_use = std::min(kept, (given > released ? given - released : 0) + of(held_bytes_));
  now.bytes_cached = kept - now.bytes_in_use;
  now.bytes_reserved = of(chunk_bytes_);
  now.bytes_high_water = of(high_water_bytes_);
  now.buffers = kept_buffers_.load(std::memory_order_acquire);
  now.buffers_high_water = of(high_water_buffers_);
  now.trims = trims_.get();
  now.blocks_trimmed = blocks_trimmed_.get();
  now.event_waits = event_waits_.get();
  now.misuses = of(misuses_);
  now.driver_allocations = of(allocations_);
  now.driver_frees = of(frees_);
  if (steady_.load(std::memory_order_acquire)) {
    now.steady_allocations = now.driver_allocations - of(steady_allocations_);
    now.steady_frees = now.driver_frees - of(steady_frees_);
  }
  return now;
}

std::vector<ChannelMemory> DeviceCache::channels() const {
  const std::lock_guard lock(mutex_);
  std::vector<ChannelMemory> all;
  for (const auto& [name, account] : channels_)
    all.push_back({name, account.limits.get(), account.bytes, account.buffers});
  return all;
}

}  // namespace framelane::cuda
