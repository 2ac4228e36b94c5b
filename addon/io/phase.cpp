#include "io/phase.h"

#include <algorithm>
#include <cmath>

namespace framelane::io {
namespace {

constexpr uint32_t kGoldenPart = 2'654'435'769;  // 2^32 times 0.618..., whose multiples wrap around exactly
constexpr double kWholePeriod = 4'294'967'296;   // 2^32
constexpr double kSlowestFps = 1;                // to be apart, a second is room enough

}  // namespace

Phase staggered(uint32_t cell) noexcept {
  return {.part = static_cast<double>(cell * kGoldenPart) / kWholePeriod, .slowest_fps = kSlowestFps};
}

MonotonicNs first_due_ns(MonotonicNs now_ns, double fps, const Phase& phase) noexcept {
  const auto rate = static_cast<long double>(std::max(fps, phase.slowest_fps));
  const auto part = static_cast<long double>(phase.part);
  const long double periods = std::ceil(static_cast<long double>(now_ns) * rate / kNsPerSecond - part);
  return static_cast<MonotonicNs>(std::ceil((periods + part) * kNsPerSecond / rate));
}

}  // namespace framelane::io
