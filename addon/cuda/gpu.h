// The GPUs of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/error.h"
#include "cuda/driver.h"

namespace framelane::cuda {

// Thread-safety: a value.
struct Gpu {
  DeviceInfo info;
  CUdevice handle = 0;
  int capability = 0;  // 90: compute capability 9.0
  int copy_engines = 0;
};

// Waits for nothing on the device. An error when the driver refuses to tell.
[[nodiscard]] Result<std::vector<Gpu>> list_gpus(const Driver& driver);

// "cuda:1", or "cuda:" and the beginning of one GPU's UUID ("cuda:GPU-8b2e"). unsupported: there is none, or more than
// one; the message names those there are.
[[nodiscard]] Result<Gpu> find_gpu(const Driver& driver, const std::string& id);

}  // namespace framelane::cuda
