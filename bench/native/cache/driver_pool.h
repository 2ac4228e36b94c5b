// The driver's own cache of device memory, which is ordered by streams as ours is. The service does not use it: it is
// here to be measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"
#include "cuda/driver.h"

namespace framelane::bench {

using CUmemoryPool = struct CUmemPoolHandle_st*;
enum CUmemPool_attribute : int {
  CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
  CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
};

// The default pool of a device, which keeps what it has got.
// Thread-safety: any thread once open.
class DriverPool {
 public:
  // The library that `driver` was opened from. unsupported: this driver or this GPU has no pool. The context is
  // current.
  [[nodiscard]] static Result<std::unique_ptr<DriverPool>> open(const cuda::Driver& driver, const std::string& library,
                                                                cuda::CUdevice device);

  cuda::CUresult (*allocate)(cuda::CUdeviceptr*, size_t, cuda::CUstream) = nullptr;
  cuda::CUresult (*release)(cuda::CUdeviceptr, cuda::CUstream) = nullptr;

  // Gives back all that is not in use, and forgets how much there has been. Nothing is under way.
  [[nodiscard]] Status empty() const;
  // Most that it has had from the driver since empty(); 0: the driver does not say.
  [[nodiscard]] uint64_t reserved_high_bytes() const noexcept;

 private:
  explicit DriverPool(const cuda::Driver& driver) noexcept : driver_(driver) {}
  [[nodiscard]] Status find_functions(const std::string& library);
  [[nodiscard]] Status keep_all(cuda::CUdevice device);

  const cuda::Driver& driver_;
  CUmemoryPool pool_ = nullptr;
  cuda::CUresult (*default_pool_)(CUmemoryPool*, cuda::CUdevice) = nullptr;
  cuda::CUresult (*set_)(CUmemoryPool, CUmemPool_attribute, void*) = nullptr;
  cuda::CUresult (*get_)(CUmemoryPool, CUmemPool_attribute, void*) = nullptr;
  cuda::CUresult (*trim_to_)(CUmemoryPool, size_t) = nullptr;
};

}  // namespace framelane::bench
