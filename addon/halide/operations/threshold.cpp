// threshold { value }: the top of the nominal range where in > value, else 0 (OpenCV's THRESH_BINARY), of each channel.
#include "halide/operations/level.h"

namespace framelane::halide {

Result<std::unique_ptr<Operation>> make_threshold(const OperationSpec& spec, const OperationInput& in) {
  return make_level(spec, in, [](const Halide::Expr& sample, const Halide::Expr& level, float top) -> Halide::Expr {
    return Halide::select(sample > level, top, 0.0F);
  });
}

}  // namespace framelane::halide
