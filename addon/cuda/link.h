// PTX to machine code, by the driver's linker: unlike loading PTX, it disturbs nobody who uses the device.
#pragma once

#include <string>

#include "core/error.h"
#include "cuda/driver.h"

namespace framelane::cuda {

// The cubin for the current context's device. Takes some 100 ms; waits for nothing on the device. An error is
// compile_failed where the PTX is to blame, else what the driver says; it ends with the linker's own words.
[[nodiscard]] Result<std::string> link_ptx(const Driver& driver, const std::string& ptx);

}  // namespace framelane::cuda
