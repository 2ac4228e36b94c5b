// Device memory for one stream: what it releases it gets again without a lock and without a call of the driver.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "cuda/block_guards.h"
#include "cuda/device_block.h"
#include "cuda/device_cache.h"

namespace framelane::cuda {

// The blocks that a captured graph uses: nobody else gets them while this lives.
// Thread-safety: a value with one owner; the device's context is current when it gives back or is destroyed.
class HeldBlocks {
 public:
  HeldBlocks() = default;
  HeldBlocks(HeldBlocks&& other) noexcept;
  HeldBlocks& operator=(HeldBlocks&& other) noexcept;
  ~HeldBlocks();  // no run of the graph is under way any more

  // The graph was last launched on this stream and may still run: others get the blocks behind that. Does not wait.
  // An error: nobody gets them, until the cache ends.
  Status give_back(CUstream stream) noexcept;

  [[nodiscard]] uint64_t bytes() const noexcept;
  [[nodiscard]] uint32_t buffers() const noexcept;

 private:
  friend class StreamCache;
  HeldBlocks(DeviceCache& device, Block* first) noexcept : device_(&device), first_(first) {}

  DeviceCache* device_ = nullptr;
  Block* first_ = nullptr;
};

// Blocks are handed out for work on this stream, in the order in which it is put there: a block that is released may be
// handed out again at once, for the stream orders the uses. Destroyed before its stream; blocks that are then in use
// are released with DeviceCache::release().
// Thread-safety: one thread at a time, with the device's context current.
class StreamCache {
 public:
  ~StreamCache();  // hands all blocks to the device's shared level behind one event; does not wait
  StreamCache(const StreamCache&) = delete;
  StreamCache& operator=(const StreamCache&) = delete;

  // At least so many bytes, aligned to kBlockAlignment. What an earlier use left in it is undefined.
  // A hit: no lock, no host allocation, no call of the driver. Else it may take the device's mutex, wait on the stream
  // (not the host) for another stream's event, and at last ask the driver for memory, which waits for the device.
  [[nodiscard]] Result<CUdeviceptr> allocate(size_t bytes) noexcept;
  // Of a block that allocate() gave. Work that uses it may still be on the stream. Released twice or not a block of
  // this stream: an error that changes nothing. In debug mode: an error says where the block was written that should
  // not have been; it is released all the same.
  Status release(CUdeviceptr pointer) noexcept;

  // Makes hits of what comes: afterwards blocks of all these sizes together lie free in this stream's lists.
  [[nodiscard]] Status prepare(std::span<const size_t> sizes) noexcept;

  // Around the capture of a graph: begin_hold(), cuStreamBeginCapture, kernels, cuStreamEndCapture, end_hold(). Every
  // block handed out in between stays with the hold, also after its release; within the hold it may be handed out
  // again. No driver call is made: what neither this stream's lists nor completed blocks nor the arena can serve is an
  // error, device_failed, and works after prepare() or a run without capture.
  // A graph may be replayed on this stream; on another one when this one has been waited for.
  [[nodiscard]] Status begin_hold() noexcept;
  [[nodiscard]] Result<HeldBlocks> end_hold() noexcept;
  // The capture failed: the blocks return to this stream.
  void abort_hold() noexcept;

  [[nodiscard]] CUstream stream() const noexcept { return stream_; }
  [[nodiscard]] uint64_t stream_id() const noexcept { return stream_id_; }
  [[nodiscard]] const std::string& channel() const noexcept;

 private:
  friend class DeviceCache;
  StreamCache(DeviceCache& device, CUstream stream, uint64_t stream_id, uint32_t serial);

  [[nodiscard]] Result<CUdeviceptr> allocate_slowly(size_t bytes) noexcept;
  [[nodiscard]] Status release_slowly(CUdeviceptr pointer) noexcept;
  [[nodiscard]] Result<Block*> find_free(uint32_t size_class) noexcept;
  [[nodiscard]] CUdeviceptr hand_out(Block& block) noexcept;
  void take_back(Block& block) noexcept;
  // The block in use that begins here, if it is this stream's.
  [[nodiscard]] Block* find(CUdeviceptr address) const noexcept;
  void remember(const Block& block);
  void place(const Block& block) noexcept;
  void leave_hold(BlockEvent* event) noexcept;

  // Thread-safety: the owner's. An entry may be out of date: the block says whose it is.
  struct Known {
    CUdeviceptr address = 0;
    uint32_t index = 0;
  };

  DeviceCache& device_;
  const BlockTable& blocks_;
  const Driver& driver_;
  const size_t front_bytes_;  // of guards
  const bool plain_;          // neither guards nor an observer
  const CUstream stream_;
  const uint64_t stream_id_;
  const uint32_t serial_;  // of this cache among all of the device, never used again
  ChannelAccount* channel_ = nullptr;
  StreamCounters* counters_ = nullptr;
  std::unique_ptr<BlockGuards> guards_;  // debug mode only

  std::array<FreeList, kSizeClasses> lists_;  // others take from them, and put there what is released elsewhere

  std::vector<Known> known_;  // open addressing, a power of two, at most half full
  uint32_t known_shift_ = 0;
  size_t known_count_ = 0;

  bool holding_ = false;  // written under the device's mutex
  std::array<FreeList, kSizeClasses> hold_lists_;
  Block* first_held_ = nullptr;
};

}  // namespace framelane::cuda
