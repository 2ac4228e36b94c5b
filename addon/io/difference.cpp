#include "io/difference.h"

#include <algorithm>
#include <cstdint>

namespace framelane::io {

// Simple enough for the compiler to take many at once.
int worst_difference(const std::byte* one, const std::byte* other, size_t bytes) noexcept {
  const auto* const a = reinterpret_cast<const uint8_t*>(one);
  const auto* const b = reinterpret_cast<const uint8_t*>(other);
  uint8_t worst = 0;
  for (size_t i = 0; i < bytes; ++i)
    worst = std::max(worst, static_cast<uint8_t>(std::max(a[i], b[i]) - std::min(a[i], b[i])));
  return worst;
}

}  // namespace framelane::io
