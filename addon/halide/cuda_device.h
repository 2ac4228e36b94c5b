// One GPU as a device: pipelines compiled by Halide's JIT, frames run by the driver.
#pragma once

#include <memory>

#include "core/device.h"
#include "core/error.h"

namespace framelane::halide {

// Opens the driver, the GPU and its context and takes the reserve. unsupported: the machine has no driver, or no such
// GPU. Takes some 100 ms. Several devices may be open in one process, all on one driver library.
[[nodiscard]] Result<std::unique_ptr<Device>> make_cuda_device(const DeviceOptions& options);

}  // namespace framelane::halide
