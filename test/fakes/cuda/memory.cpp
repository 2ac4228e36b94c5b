#include "fakes/cuda/memory.h"

#include <sys/mman.h>

#include "fakes/cuda/detectors.h"
#include "fakes/cuda/functions.h"
#include "fakes/cuda/stream.h"
#include "fakes/cuda/touch.h"

namespace framelane::fake_cuda {
namespace {

constexpr size_t kAlignment = 512;
constexpr size_t kGap = 4096;  // what lies behind an allocation belongs to nobody

size_t round_up(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

void release(const std::shared_ptr<Allocation>& allocation) {
  size_t given = 0;
  for (const auto& [begin, block] : allocation->blocks) given += block.given ? 1 : 0;
  if (given > 0) detect(Detector::leak, "memory freed while " + std::to_string(given) + " of its blocks are given out");
  state().devices[static_cast<size_t>(allocation->device)].used_bytes -= round_up(allocation->bytes, kAlignment);
  state().memory.erase(allocation->begin);
}

// Cuts [begin, end) out of the blocks, keeping what stands out on either side.
void cut_blocks(Allocation& allocation, uint64_t begin, uint64_t end) {
  auto at = allocation.blocks.upper_bound(begin);
  if (at != allocation.blocks.begin()) --at;
  while (at != allocation.blocks.end() && at->first < end) {
    const auto [block_begin, block] = *at;
    if (block.end <= begin) {
      ++at;
      continue;
    }
    at = allocation.blocks.erase(at);
    if (block_begin < begin) allocation.blocks[block_begin] = {begin, block.given, block.stream_id};
    if (block.end > end) allocation.blocks[end] = block;
  }
}

bool any_given(const Allocation& allocation, uint64_t begin, uint64_t end) {
  for (const auto& [block_begin, block] : allocation.blocks)
    if (block.given && block_begin < end && begin < block.end) return true;
  return false;
}

}  // namespace

Allocation::~Allocation() {
  if (backing != nullptr) munmap(backing, bytes);
}

void annotate_block(uint64_t begin, size_t bytes, bool given, uint64_t stream_id) {
  const std::shared_ptr<Allocation> allocation = allocation_at(begin);
  const uint64_t end = begin + bytes;
  const std::string block = "the block of " + std::to_string(bytes) + " bytes at " + std::to_string(begin);
  if (!allocation || end > allocation->begin + allocation->bytes) {
    // What is given back after its arena has gone is only late.
    if (given) detect(Detector::use_after_free, block + " is given out, but is in no live allocation");
    return;
  }
  const bool was_given = any_given(*allocation, begin, end);
  if (given && was_given) detect(Detector::given_twice, block + " is given out while it is in use");
  if (!given && allocation->annotated && !was_given) detect(Detector::given_twice, block + " is returned twice");
  allocation->annotated = true;
  cut_blocks(*allocation, begin, end);
  allocation->blocks[begin] = {end, given, stream_id};
}

void drop_memory(CUcontext context) {
  std::vector<std::shared_ptr<Allocation>> gone;
  for (const auto& [begin, allocation] : state().memory)
    if (context == nullptr || allocation->context == context) gone.push_back(allocation);
  for (const std::shared_ptr<Allocation>& allocation : gone) {
    state().devices[static_cast<size_t>(allocation->device)].used_bytes -= round_up(allocation->bytes, kAlignment);
    state().memory.erase(allocation->begin);
  }
}

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  Call call(Function::cuMemAlloc);
  if (!call.allowed_in_capture() || call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Device& device = state().devices[static_cast<size_t>(context->device)];
  const size_t rounded = round_up(bytes, kAlignment);
  if (rounded > state().options.memory_bytes - device.used_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const backing =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (backing == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  device.used_bytes += rounded;
  auto allocation = std::make_shared<Allocation>();
  allocation->begin = kDeviceSpace + (static_cast<uint64_t>(context->device) << 40) + kAlignment + device.next_address;
  // Addresses are never used again, so a stale one never looks live.
  device.next_address += rounded + kGap;
  allocation->bytes = bytes;
  allocation->device = context->device;
  allocation->context = call.context_handle();
  allocation->backing = static_cast<std::byte*>(backing);
  state().memory[allocation->begin] = allocation;
  *out = allocation->begin;
  return call.end(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  Call call(Function::cuMemFree);
  if (!call.allowed_in_capture()) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  if (pointer == 0) return call.end(CUDA_SUCCESS);
  if (state().memory.find(pointer) == state().memory.end()) {
    detect(Detector::use_after_free, "cuMemFree of an address that no allocation begins at");
    return call.end(CUDA_ERROR_INVALID_VALUE);
  }
  wait_for_device(call, context->device);
  // Another thread may have freed it meanwhile.
  const auto found = state().memory.find(pointer);
  if (found == state().memory.end()) return call.end(CUDA_ERROR_INVALID_VALUE);
  const std::shared_ptr<Allocation> allocation = found->second;
  release(allocation);
  return call.end(CUDA_SUCCESS);
}

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  Call call(Function::cuMemGetInfo);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  if (free_bytes == nullptr || total_bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *total_bytes = state().options.memory_bytes;
  *free_bytes = *total_bytes - state().devices[static_cast<size_t>(context->device)].used_bytes;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr pointer) {
  Call call(Function::cuPointerGetAttribute);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (!call.context()) return call.refused();
  const std::shared_ptr<Allocation> allocation = allocation_at(pointer);
  const bool is_host = !allocation && host_memory(reinterpret_cast<const void*>(pointer), 1) == HostMemory::pinned;
  if (out == nullptr || (!allocation && !is_host)) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
    *static_cast<unsigned*>(out) = is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
  }
  if (attribute != CU_POINTER_ATTRIBUTE_CONTEXT) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<CUcontext*>(out) = allocation ? allocation->context : call.context_handle();
  return CUDA_SUCCESS;
}

}  // namespace framelane::fake_cuda
