#include <atomic>
#include <cstdint>
#include <cstring>

#include "cuda/driver_types.h"

using namespace framelane::cuda;

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "none", static_cast<size_t>(bytes));
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  static std::atomic<CUdeviceptr> next{CUdeviceptr{1} << 40};
  *out = next.fetch_add((bytes + 511) / 512 * 512);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamGetId(CUstream, unsigned long long* id) {
  static std::atomic<unsigned long long> last{0};
  *id = ++last;
  return CUDA_SUCCESS;
}

// The driver's pool, which only the benchmark of the cache knows.
EXPORTED CUresult cuDeviceGetDefaultMemPool(void** pool, CUdevice) {
  *pool = nullptr;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemPoolSetAttribute(void*, int, void*) {
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemPoolGetAttribute(void*, int, void* value) {
  std::memset(value, 0, sizeof(uint64_t));
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemPoolTrimTo(void*, size_t) {
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream) {
  return cuMemAlloc_v2(out, bytes);
}

EXPORTED CUresult cuMemFreeAsync(CUdeviceptr, CUstream) {
  return CUDA_SUCCESS;
}

}  // extern "C"
