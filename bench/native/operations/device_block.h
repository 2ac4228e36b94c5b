// Memory of a GPU, taken from the driver and given back to it.
#pragma once

#include <utility>

#include "core/error.h"
#include "cuda/driver.h"

namespace framelane::bench {

// Thread-safety: a value with one owner; the context is current where it is made and destroyed, and nothing on the
// device uses it any more.
class DeviceBlock {
 public:
  [[nodiscard]] static Result<DeviceBlock> take(const cuda::Driver& driver, size_t bytes) {
    cuda::CUdeviceptr address = 0;
    if (const cuda::CUresult result = driver.cuMemAlloc(&address, bytes); result != cuda::CUDA_SUCCESS)
      return driver.error("cuMemAlloc", result);
    return DeviceBlock(driver, address);
  }
  DeviceBlock(DeviceBlock&& other) noexcept : driver_(other.driver_), address_(std::exchange(other.address_, 0)) {}
  DeviceBlock& operator=(DeviceBlock&&) = delete;
  ~DeviceBlock() {
    if (address_ != 0) driver_.cuMemFree(address_);
  }

  [[nodiscard]] cuda::CUdeviceptr address() const noexcept { return address_; }

 private:
  DeviceBlock(const cuda::Driver& driver, cuda::CUdeviceptr address) noexcept : driver_(driver), address_(address) {}

  const cuda::Driver& driver_;
  cuda::CUdeviceptr address_;
};

}  // namespace framelane::bench
