// Units of the tests of device and pinned memory.
#pragma once

#include <cstddef>

namespace framelane::cuda {

inline constexpr size_t kMiB = size_t{1} << 20;

}  // namespace framelane::cuda
