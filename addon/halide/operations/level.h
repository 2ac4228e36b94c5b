// Operations whose one argument is a level of the source.
#pragma once

#include "halide/operations/operation.h"

namespace framelane::halide {

// A sample of the result, from one of the image and the level, both in the image's nominal range `top`.
using ApplyLevel = Halide::Expr (*)(const Halide::Expr& sample, const Halide::Expr& level, float top);

// `value` is in counts of the type of the channel's source, or a share of its nominal range.
[[nodiscard]] Result<std::unique_ptr<Operation>> make_level(const OperationSpec& spec, const OperationInput& in,
                                                            ApplyLevel apply);

}  // namespace framelane::halide
