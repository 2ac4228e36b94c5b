// Where a thread's blocks come from: our cache, the driver's pool or the driver itself, all asked in the same way.
#pragma once

#include <cstddef>

#include "core/error.h"
#include "cuda/driver.h"
#include "cuda/stream_cache.h"
#include "native/cache/driver_pool.h"

namespace framelane::bench {

// Of these three: false: `failure` says why. Thread-safety: one thread's, with the context current.
struct CachedMemory {
  static constexpr bool kSlow = false;  // one pair takes so long that the clock may be read after each
  cuda::StreamCache& cache;
  Error failure = {};

  bool allocate(size_t bytes, cuda::CUdeviceptr& block) {
    const Result<cuda::CUdeviceptr> found = cache.allocate(bytes);
    if (!found) return failure = found.error(), false;
    block = found.value();
    return true;
  }
  bool release(cuda::CUdeviceptr block) {
    const Status released = cache.release(block);
    return released.ok() || (failure = released.error(), false);
  }
};

struct PooledMemory {
  static constexpr bool kSlow = false;
  const cuda::Driver& driver;
  const DriverPool& pool;
  cuda::CUstream stream = nullptr;
  Error failure = {};

  bool allocate(size_t bytes, cuda::CUdeviceptr& block) {
    const cuda::CUresult result = pool.allocate(&block, bytes, stream);
    return result == cuda::CUDA_SUCCESS || (failure = driver.error("cuMemAllocAsync", result), false);
  }
  bool release(cuda::CUdeviceptr block) {
    const cuda::CUresult result = pool.release(block, stream);
    return result == cuda::CUDA_SUCCESS || (failure = driver.error("cuMemFreeAsync", result), false);
  }
};

struct DriverMemory {
  static constexpr bool kSlow = true;
  explicit DriverMemory(const cuda::Driver& of)
      : driver(of),
        allocate_(reinterpret_cast<cuda::CUresult (*)(cuda::CUdeviceptr*, size_t)>(of.address("cuMemAlloc_v2"))),
        release_(reinterpret_cast<cuda::CUresult (*)(cuda::CUdeviceptr)>(of.address("cuMemFree_v2"))) {}
  const cuda::Driver& driver;
  Error failure = {};

  bool allocate(size_t bytes, cuda::CUdeviceptr& block) {
    const cuda::CUresult result = allocate_(&block, bytes);
    return result == cuda::CUDA_SUCCESS || (failure = driver.error("cuMemAlloc", result), false);
  }
  bool release(cuda::CUdeviceptr block) {
    const cuda::CUresult result = release_(block);
    return result == cuda::CUDA_SUCCESS || (failure = driver.error("cuMemFree", result), false);
  }

 private:
  // The driver's own, neither counted nor behind the gate of the table.
  cuda::CUresult (*allocate_)(cuda::CUdeviceptr*, size_t);
  cuda::CUresult (*release_)(cuda::CUdeviceptr);
};

}  // namespace framelane::bench
