// rotate { value }: by 90, 180 or 270 degrees clockwise; values and type stay as they are.
#include <utility>

#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Rotate final : public Operation {
 public:
  explicit Rotate(int degrees) : degrees_(degrees) {}

  std::string key() const override { return "rotate:" + std::to_string(degrees_); }
  bool keeps_flat() const noexcept override { return false; }
  Extent extent(Extent in) const noexcept override { return degrees_ == 180 ? in : Extent{in.height, in.width}; }
  Area reads(const Area& result, Extent in) const noexcept override {
    const int32_t right = result.x + result.width, bottom = result.y + result.height;
    if (degrees_ == 90) return {result.y, in.height - right, result.height, result.width};
    if (degrees_ == 180) return {in.width - right, in.height - bottom, result.width, result.height};
    return {in.width - bottom, result.x, result.height, result.width};
  }

  // A quarter turn reads columns where it writes rows, so what is read lies in memory.
  Image build(const Image& unread, Graph& graph) const override {
    const Image in = degrees_ == 180 ? unread : graph.readable(unread);
    Image out = in;
    out.flat = false;
    if (degrees_ != 180) std::swap(out.width, out.height);
    out.read = [in, degrees = degrees_](const Expr& column, const Expr& row) -> Expr {
      if (degrees == 180) return in.read(in.column_of(in.width - 1 - column), in.height - 1 - row);
      if (degrees == 90) return in.read(in.column_of(row), in.height - 1 - column);
      return in.read(in.column_of(in.width - 1 - row), column);
    };
    return out;
  }

 private:
  int degrees_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_rotate(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const int32_t degrees = arguments.whole("value", 90, 270);
  if (Status status = arguments.finish(); !status) return status.error();
  if (degrees % 90 != 0)
    return pipeline_invalid("`value` is " + std::to_string(degrees) + " and must be 90, 180 or 270");
  return std::unique_ptr<Operation>(std::make_unique<Rotate>(degrees));
}

}  // namespace framelane::halide
