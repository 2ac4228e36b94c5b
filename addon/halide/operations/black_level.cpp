// black_level { value }: out = in - value, neither rounded nor clipped.
#include "halide/operations/level.h"

namespace framelane::halide {

Result<std::unique_ptr<Operation>> make_black_level(const OperationSpec& spec, const OperationInput& in) {
  return make_level(spec, in, [](const Halide::Expr& sample, const Halide::Expr& level, float) -> Halide::Expr {
    return sample - level;
  });
}

}  // namespace framelane::halide
