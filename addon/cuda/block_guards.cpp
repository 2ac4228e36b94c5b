#include "cuda/block_guards.h"

#include <algorithm>

namespace framelane::cuda {
namespace {

constexpr unsigned char kGuard = 0xfa, kPoison = 0xdd;
constexpr size_t kPoisonSeen = 4096;  // of the block's bytes, from its start
constexpr size_t kSeenBytes = std::max(BlockGuards::kFrontBytes + BlockGuards::kMostRearBytes, kPoisonSeen);

size_t rear_bytes(const Block& block) {
  const size_t used = BlockGuards::kFrontBytes + block.requested_bytes;
  return std::min(block.bytes() - used, BlockGuards::kMostRearBytes);
}

// The first byte that is not as it should be; `bytes`: none.
size_t first_changed(const unsigned char* seen, size_t bytes, unsigned char value) {
  return static_cast<size_t>(std::find_if(seen, seen + bytes, [&](unsigned char byte) { return byte != value; }) -
                             seen);
}

Error damage(const Block& block, const std::string& channel, const std::string& what) {
  return {ErrorCode::internal, "device memory of channel '" + channel + "': a block of " +
                                   std::to_string(block.requested_bytes) + " bytes was written " + what};
}

}  // namespace

Result<std::unique_ptr<BlockGuards>> BlockGuards::open(const Driver& driver, CUstream stream) {
  std::unique_ptr<BlockGuards> guards(new BlockGuards(driver, stream));
  void* memory = nullptr;
  const CUresult result = driver.cuMemHostAlloc(&memory, kSeenBytes, CU_MEMHOSTALLOC_PORTABLE);
  if (result != CUDA_SUCCESS) return driver.error("cuMemHostAlloc", result);
  guards->seen_ = static_cast<unsigned char*>(memory);
  return guards;
}

BlockGuards::~BlockGuards() {
  if (seen_ != nullptr) (void)driver_.cuMemFreeHost(seen_);
}

Status BlockGuards::fill(CUdeviceptr address, unsigned char value, size_t bytes) noexcept {
  const CUresult result = driver_.cuMemsetD8Async(address, value, bytes, stream_);
  return result == CUDA_SUCCESS ? Status() : driver_.error("cuMemsetD8Async", result);
}

Status BlockGuards::fetch(size_t at, CUdeviceptr address, size_t bytes) noexcept {
  const CUresult result = driver_.cuMemcpyDtoHAsync(seen_ + at, address, bytes, stream_);
  return result == CUDA_SUCCESS ? Status() : driver_.error("cuMemcpyDtoHAsync", result);
}

Status BlockGuards::wait() noexcept {
  const CUresult result = driver_.cuStreamSynchronize(stream_);
  return result == CUDA_SUCCESS ? Status() : driver_.error("cuStreamSynchronize", result);
}

Status BlockGuards::arm(Block& block, size_t requested_bytes, const std::string& channel) noexcept {
  const CUdeviceptr address = block.address.load(std::memory_order_relaxed);
  if (block.poisoned) {
    block.poisoned = false;
    const size_t seen = std::min(block.bytes(), kPoisonSeen);
    if (Status fetched = fetch(0, address, seen); !fetched) return fetched;
    if (Status waited = wait(); !waited) return waited;
    if (const size_t at = first_changed(seen_, seen, kPoison); at < seen)
      return damage(block, channel, "after its release, " + std::to_string(at) + " bytes from the block's start");
  }
  block.requested_bytes = requested_bytes;
  if (Status filled = fill(address, kGuard, kFrontBytes); !filled) return filled;
  if (Status filled = fill(address + kFrontBytes + requested_bytes, kGuard, rear_bytes(block)); !filled) return filled;
  block.armed = true;
  return {};
}

Status BlockGuards::disarm(Block& block, const std::string& channel) noexcept {
  const CUdeviceptr address = block.address.load(std::memory_order_relaxed);
  Status seen;
  if (block.armed) {
    block.armed = false;
    const size_t rear = rear_bytes(block);
    if (Status fetched = fetch(0, address, kFrontBytes); !fetched) return fetched;
    if (Status fetched = fetch(kFrontBytes, address + kFrontBytes + block.requested_bytes, rear); !fetched)
      return fetched;
    if (Status waited = wait(); !waited) return waited;
    const size_t front_at = first_changed(seen_, kFrontBytes, kGuard);
    const size_t rear_at = first_changed(seen_ + kFrontBytes, rear, kGuard);
    if (front_at < kFrontBytes)
      seen = damage(block, channel, std::to_string(kFrontBytes - front_at) + " bytes before its start");
    else if (rear_at < rear)
      seen = damage(block, channel, std::to_string(rear_at + 1) + " bytes past its end");
  }
  if (Status filled = fill(address, kPoison, block.bytes()); !filled) return filled;
  block.poisoned = true;
  return seen;
}

}  // namespace framelane::cuda
