#include <sys/mman.h>
#include <unistd.h>

#include "fakes/cuda/detectors.h"
#include "fakes/cuda/functions.h"
#include "fakes/cuda/memory.h"
#include "fakes/cuda/stream.h"

namespace framelane::fake_cuda {
namespace {

size_t page() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

const HostRange* range_at(uintptr_t address) {
  const auto& host = state().host;
  auto after = host.upper_bound(address);
  if (after == host.begin()) return nullptr;
  const HostRange& range = std::prev(after)->second;
  return address < range.begin + range.bytes ? &range : nullptr;
}

bool overlaps_any(uintptr_t begin, uintptr_t end) {
  for (const auto& [range_begin, range] : state().host)
    if (range_begin < end && begin < range_begin + range.bytes) return true;
  return false;
}

size_t pinned_bytes() {
  size_t sum = 0;
  for (const auto& [begin, range] : state().host) sum += range.bytes;
  return sum;
}

bool is_mapped(uintptr_t begin, size_t bytes) {
  std::vector<unsigned char> pages(bytes / page() + 2);
  const uintptr_t first = begin / page() * page();
  return mincore(reinterpret_cast<void*>(first), begin + bytes - first, pages.data()) == 0;
}

}  // namespace

HostMemory host_memory(const void* pointer, size_t bytes) {
  const uintptr_t begin = address_of(pointer);
  if (const HostRange* range = range_at(begin))
    return begin + bytes <= range->begin + range->bytes ? HostMemory::pinned : HostMemory::refused;
  return overlaps_any(begin, begin + bytes) ? HostMemory::refused : HostMemory::pageable;
}

void drop_host_memory() {
  for (const auto& [begin, range] : state().host)
    if (!range.registered) munmap(reinterpret_cast<void*>(begin), range.bytes);
  state().host.clear();
}

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  Call call(Function::cuMemHostAlloc);
  if (!call.allowed_in_capture() || call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t rounded = (bytes + page() - 1) / page() * page();
  if (rounded > state().options.pinned_bytes - std::min(state().options.pinned_bytes, pinned_bytes()))
    return CUDA_ERROR_OUT_OF_MEMORY;
  void* const memory = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  state().host[address_of(memory)] = {address_of(memory), rounded, false, flags};
  *out = memory;
  return call.end(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void* pointer) {
  Call call(Function::cuMemFreeHost);
  if (!call.allowed_in_capture()) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  wait_for_device(call, context->device);
  const auto found = state().host.find(address_of(pointer));
  if (found == state().host.end() || found->second.registered) {
    detect(Detector::use_after_free, "cuMemFreeHost of memory that cuMemHostAlloc did not give, or twice");
    return call.end(CUDA_ERROR_INVALID_VALUE);
  }
  munmap(pointer, found->second.bytes);
  state().host.erase(found);
  return call.end(CUDA_SUCCESS);
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  Call call(Function::cuMemHostRegister);
  if (!call.allowed_in_capture() || call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  const uintptr_t begin = address_of(pointer);
  if (pointer == nullptr || bytes == 0 || !is_mapped(begin, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (overlaps_any(begin, begin + bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (bytes > state().options.pinned_bytes - std::min(state().options.pinned_bytes, pinned_bytes()))
    return CUDA_ERROR_OUT_OF_MEMORY;
  state().host[begin] = {begin, bytes, true, flags};
  return call.end(CUDA_SUCCESS);
}

CUresult cuMemHostUnregister(void* pointer) {
  Call call(Function::cuMemHostUnregister);
  if (!call.allowed_in_capture()) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  wait_for_device(call, context->device);
  const auto found = state().host.find(address_of(pointer));
  if (found == state().host.end() || !found->second.registered) {
    detect(Detector::use_after_free, "cuMemHostUnregister of memory that is not registered");
    return call.end(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  }
  state().host.erase(found);
  return call.end(CUDA_SUCCESS);
}

CUresult cuMemHostGetFlags(unsigned* out, void* pointer) {
  Call call(Function::cuMemHostGetFlags);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  const HostRange* range = range_at(address_of(pointer));
  if (out == nullptr || range == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // The real driver adds that the memory is mapped into the device's addresses.
  *out = range->flags | 2;
  return CUDA_SUCCESS;
}

}  // namespace framelane::fake_cuda
