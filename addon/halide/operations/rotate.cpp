// rotate { value }: by 90, 180 or 270 degrees clockwise; values and type stay as they are.
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
    if (degrees_ == 180) {
      out.read = [in](const Expr& column, const Expr& row) -> Expr {
        const Expr from = in.moved(column, [&](const Expr& pixel) -> Expr { return in.width - 1 - pixel; });
        return in.read(from, in.height - 1 - row);
      };
      return out;
    }
    out.width = in.height;
    out.height = in.width;
    out.read = [in, clockwise = degrees_ == 90](const Expr& column, const Expr& row) -> Expr {
      const Expr across = clockwise ? row : in.width - 1 - row;
      const Expr from = in.moved(column, [&](const Expr&) -> Expr { return across; });
      const Expr pixel = column / in.step();
      return in.read(from, clockwise ? in.height - 1 - pixel : pixel);
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
