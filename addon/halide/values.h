// Sample types in Halide's terms, and the one place where values are rounded and clipped.
#pragma once

#include <Halide.h>

#include "core/format.h"

namespace framelane::halide {

[[nodiscard]] Halide::Type halide_type(SampleType type);
[[nodiscard]] float nominal_range(SampleType type) noexcept;  // 255, 65535 or 1
// Half away from zero, then saturated, for integers; float32 stays as it is.
[[nodiscard]] Halide::Expr finish_value(const Halide::Expr& value, SampleType type);

}  // namespace framelane::halide
