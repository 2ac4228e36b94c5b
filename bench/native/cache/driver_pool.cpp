#include "native/cache/driver_pool.h"

#include <dlfcn.h>

#include <limits>

namespace framelane::bench {

Result<std::unique_ptr<DriverPool>> DriverPool::open(const cuda::Driver& driver, const std::string& library,
                                                     cuda::CUdevice device) {
  std::unique_ptr<DriverPool> pool(new DriverPool(driver));
  if (Status found = pool->find_functions(library); !found) return found.error();
  if (Status kept = pool->keep_all(device); !kept) return kept.error();
  return pool;
}

Status DriverPool::find_functions(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // open already, to the end of the process
  if (handle == nullptr) return Error{ErrorCode::unsupported, dlerror()};
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    void* const found = dlsym(handle, symbol);
    if (found == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  find(allocate, "cuMemAllocAsync");
  find(release, "cuMemFreeAsync");
  find(default_pool_, "cuDeviceGetDefaultMemPool");
  find(set_, "cuMemPoolSetAttribute");
  find(get_, "cuMemPoolGetAttribute");
  find(trim_to_, "cuMemPoolTrimTo");
  if (!missing.empty()) return Error{ErrorCode::unsupported, "the driver lacks " + missing};
  return {};
}

Status DriverPool::keep_all(cuda::CUdevice device) {
  if (const cuda::CUresult result = default_pool_(&pool_, device); result != cuda::CUDA_SUCCESS)
    return driver_.error("cuDeviceGetDefaultMemPool", result);
  uint64_t threshold = std::numeric_limits<uint64_t>::max();
  if (const cuda::CUresult result = set_(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
      result != cuda::CUDA_SUCCESS)
    return driver_.error("cuMemPoolSetAttribute", result);
  return {};
}

Status DriverPool::empty() const {
  if (const cuda::CUresult result = trim_to_(pool_, 0); result != cuda::CUDA_SUCCESS)
    return driver_.error("cuMemPoolTrimTo", result);
  uint64_t nothing = 0;  // the one value that the driver takes
  if (const cuda::CUresult result = set_(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &nothing);
      result != cuda::CUDA_SUCCESS)
    return driver_.error("cuMemPoolSetAttribute", result);
  return {};
}

uint64_t DriverPool::reserved_high_bytes() const noexcept {
  uint64_t bytes = 0;
  return get_(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &bytes) == cuda::CUDA_SUCCESS ? bytes : 0;
}

}  // namespace framelane::bench
