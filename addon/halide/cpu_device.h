// The CPU as a device: pipelines compiled by Halide's JIT.
#pragma once

#include <memory>

#include "core/device.h"

namespace framelane::halide {

[[nodiscard]] std::unique_ptr<Device> make_cpu_device();
[[nodiscard]] const char* version() noexcept;  // "21.0.0"

}  // namespace framelane::halide
