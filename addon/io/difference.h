// How far results are apart.
#pragma once

#include <cstddef>

namespace framelane::io {

// The largest difference of two samples of 8 bits each, in grey levels.
[[nodiscard]] int worst_difference(const std::byte* one, const std::byte* other, size_t bytes) noexcept;

}  // namespace framelane::io
