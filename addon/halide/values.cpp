#include "halide/values.h"

namespace framelane::halide {

using Halide::Expr;

Halide::Type halide_type(SampleType type) {
  switch (type) {
    case SampleType::uint8: return Halide::UInt(8);
    case SampleType::uint16: return Halide::UInt(16);
    case SampleType::float32: break;
  }
  return Halide::Float(32);
}

float nominal_range(SampleType type) noexcept {
  switch (type) {
    case SampleType::uint8: return 255.0F;
    case SampleType::uint16: return 65535.0F;
    case SampleType::float32: break;
  }
  return 1.0F;
}

Expr finish_value(const Expr& value, SampleType type) {
  if (type == SampleType::float32) return value;
  // The float32 just below one half: with it the sum never rounds up for a value just below n + 1/2.
  constexpr float kHalf = 0x1.fffffep-2F;
  const Expr clipped = Halide::clamp(value, 0.0F, nominal_range(type));
  return Halide::cast(halide_type(type), Halide::cast<int32_t>(clipped + kHalf));
}

}  // namespace framelane::halide
