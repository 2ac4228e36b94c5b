// Device memory of one GPU: blocks that are kept for reuse, so that a running machine makes no cuMemAlloc and no
// cuMemFree, each of which waits for the whole device.
//
// Three levels. Each stream has free lists of its own (stream_cache.h), used without a lock. Blocks that a stream no
// longer needs lie in the shared level, guarded by an event of that stream. Below is the arena (device_memory.h).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/frame.h"
#include "cuda/block_events.h"
#include "cuda/block_guards.h"
#include "cuda/device_block.h"
#include "cuda/device_memory.h"
#include "cuda/driver.h"
#include "cuda/memory_accounts.h"
#include "cuda/shared_blocks.h"

namespace framelane::cuda {

class StreamCache;
class HeldBlocks;

// Who wants to know what is asked for, to record it. Thread-safety: told by each stream's owner, from within its call.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;
  virtual void given(CUdeviceptr block, size_t asked_bytes) noexcept = 0;
  virtual void returned(CUdeviceptr block) noexcept = 0;
};

// Thread-safety: a value.
struct DeviceCacheOptions {
  uint64_t reserve_bytes = 0;             // taken at start, kept to the end
  MemoryLimits limits = {};               // of the device; the reserve is no larger
  int64_t trim_after_ns = 5'000'000'000;  // what was not needed for so long is given back in the background
  // How often, 200 us apart, a block that there is no memory for looks at streams that have given theirs back and are
  // still at work.
  uint32_t reclaim_looks = 50;
  // Guard bytes around each block, poison after release, both checked. Each release then waits for its stream; blocks
  // of a hold are not checked.
  bool debug = false;
  BlockObserver* observer = nullptr;  // outlives the cache; nothing is then served the fast way
};

// Thread-safety: a value.
struct DeviceCacheStatistics {
  uint64_t hits = 0;    // served by the stream's own lists
  uint64_t misses = 0;  // served by the shared level, the arena or the driver
  uint64_t failures = 0;
  uint64_t bytes_in_use = 0;      // blocks handed out, graphs included, in whole blocks
  uint64_t bytes_cached = 0;      // blocks that are kept free
  uint64_t bytes_reserved = 0;    // taken from the driver
  uint64_t bytes_high_water = 0;  // most of bytes_in_use + bytes_cached there has been
  uint64_t buffers = 0;           // blocks in use or cached
  uint64_t buffers_high_water = 0;
  uint64_t trims = 0;  // rounds that gave something back
  uint64_t blocks_trimmed = 0;
  uint64_t event_waits = 0;                           // blocks taken over while their former stream was still at work
  uint64_t driver_allocations = 0, driver_frees = 0;  // cuMemAlloc and cuMemFree, since the start
  uint64_t steady_allocations = 0, steady_frees = 0;  // since mark_steady(); 0 before it
  uint64_t misuses = 0;  // double frees, foreign pointers, bytes written where they should not
};

// Thread-safety: a value.
struct ChannelMemory {
  std::string channel;
  MemoryLimits limits;
  uint64_t bytes = 0;  // in use or cached for this channel
  uint64_t buffers = 0;
};

// Owned by the device; outlives every StreamCache and HeldBlocks.
// Thread-safety: any thread, with the device's context current where it says so.
class DeviceCache {
 public:
  // Takes the reserve from the driver: a call that waits for the device. The context is current.
  [[nodiscard]] static Result<std::unique_ptr<DeviceCache>> open(const Driver& driver, CUcontext context,
                                                                 const DeviceCacheOptions& options);
  ~DeviceCache();  // gives all memory back; waits for the device. The context is current.
  DeviceCache(const DeviceCache&) = delete;
  DeviceCache& operator=(const DeviceCache&) = delete;

  // Streams of one channel share its bounds. The stream outlives what is returned. The context is current.
  [[nodiscard]] Result<std::unique_ptr<StreamCache>> open_stream(CUstream stream, const std::string& channel);

  // Take effect at once for new blocks; what is cached above a lowered bound goes in the background.
  void set_limits(const MemoryLimits& limits) noexcept;
  void set_channel_limits(const std::string& channel, const MemoryLimits& limits);

  // For a block whose StreamCache is not at hand: it goes back to the stream it came from, which orders its reuse; so
  // nothing may use it on another stream. The context is current.
  Status release(CUdeviceptr pointer) noexcept;

  // Wakes the trim thread: everything that is cached and idle goes, whatever its age. Returns at once.
  void trim() noexcept;
  // The same on this thread: events are asked, not waited for. The context is current.
  void trim_now() noexcept;

  // From here on driver calls for memory count as an alarm.
  void mark_steady() noexcept;

  [[nodiscard]] DeviceCacheStatistics statistics() const noexcept;  // never blocks
  [[nodiscard]] std::vector<ChannelMemory> channels() const;

 private:
  friend class StreamCache;
  friend class HeldBlocks;
  using Lock = std::unique_lock<std::mutex>;
  // Thread-safety: a value. A block, or why there is none: nothing at all: memory is out.
  struct Found {
    Block* block = nullptr;
    Status failed;
  };
  DeviceCache(const Driver& driver, CUcontext context, const DeviceCacheOptions& options);

  // device_cache.cpp
  [[nodiscard]] ChannelAccount& account(const std::string& channel);
  void close(StreamCache& stream) noexcept;
  // Who has this pointer, when it is not the stream's. An error: nobody may release it.
  [[nodiscard]] Status release_from(const StreamCache* stream, CUdeviceptr pointer) noexcept;
  // `last` (nullptr: nothing runs) is the stream that the graph was last launched on.
  [[nodiscard]] Status release_held(Block* first, const CUstream* last) noexcept;
  void forget(ChannelAccount& channel) noexcept;

  // device_cache_obtain.cpp: what a StreamCache does not have in its lists. `capturing`: no call of the driver.
  [[nodiscard]] Result<Block*> obtain(StreamCache& stream, uint32_t size_class, bool capturing) noexcept;
  [[nodiscard]] Found find_block(Lock& lock, StreamCache& stream, uint32_t size_class, bool capturing);
  [[nodiscard]] bool make_room_in_channel(StreamCache& stream, size_t bytes, bool capturing);
  [[nodiscard]] bool make_room_on_device(size_t bytes, bool capturing);
  [[nodiscard]] Found take_over(StreamCache& stream, uint32_t size_class);
  [[nodiscard]] Block* cut(uint32_t size_class);
  // A chunk from the driver; without the mutex meanwhile. Success does not mean that there was one.
  [[nodiscard]] Status grow(Lock& lock, size_t bytes);
  void assign(Block& block, StreamCache& stream) noexcept;
  [[nodiscard]] Error refusal(const StreamCache& stream, size_t bytes, bool capturing, bool channel_full) const;
  [[nodiscard]] std::string holders() const;

  // device_cache_trim.cpp
  enum class Collect : uint8_t { unneeded, everything };
  // Takes a stream's free blocks into the shared level, behind one event. Does nothing while the stream holds; where
  // the driver gives no event, they stay.
  void collect(StreamCache& stream, Collect which) noexcept;
  // Out of the channel's account, and behind an event (nullptr: nothing runs) into the shared level.
  void share(Block& block, BlockEvent* event, uint64_t stream_id, MonotonicNs now) noexcept;
  uint64_t return_idle(MonotonicNs before);  // to the arena; how many blocks
  void free_unused_chunks(Lock& lock, MonotonicNs before);
  void collect_over_limits();
  // For a block that there is no memory for: what nobody needs goes to the arena. Waits a little for streams that are
  // still at work; what other streams needed lately stays theirs.
  void reclaim(Lock& lock, StreamCache& stream, size_t bytes, bool capturing);
  void trim_round(bool everything);
  void trim_loop();

  [[nodiscard]] size_t front_bytes() const noexcept { return debug_ ? BlockGuards::kFrontBytes : 0; }

  static constexpr size_t kMostStreams = 1024;

  const Driver& driver_;
  const CUcontext context_;
  const int64_t trim_after_ns_;
  const uint32_t reclaim_looks_;
  const bool debug_;
  BlockObserver* const observer_;
  LiveLimits limits_;

  // Read by anybody; those of the first three lines are written under the mutex.
  OwnedCount trims_, blocks_trimmed_, event_waits_;
  std::atomic<uint64_t> kept_bytes_{0}, kept_buffers_{0}, held_bytes_{0}, chunk_bytes_{0};
  std::atomic<uint64_t> high_water_bytes_{0}, high_water_buffers_{0};
  std::atomic<uint64_t> misuses_{0}, bytes_released_elsewhere_{0};
  std::atomic<uint64_t> allocations_{0}, frees_{0}, steady_allocations_{0}, steady_frees_{0};
  std::atomic<bool> steady_{false};
  std::array<std::atomic<StreamCounters*>, kMostStreams> counters_{};

  BlockTable blocks_;  // add() and remove() under the mutex

  mutable std::mutex mutex_;
  BlockEvents events_;
  SharedBlocks shared_;
  DeviceMemory memory_;
  std::unordered_map<CUdeviceptr, uint32_t> by_address_;
  std::map<std::string, ChannelAccount> channels_;
  std::vector<StreamCache*> streams_;
  std::vector<std::unique_ptr<StreamCounters>> all_counters_;
  std::vector<StreamCounters*> free_counters_;
  uint32_t last_serial_ = 0;
  bool wanted_ = false, everything_wanted_ = false, ending_ = false;

  std::condition_variable wake_;
  std::thread trimmer_;
};

}  // namespace framelane::cuda
