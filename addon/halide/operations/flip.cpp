// flip { value }: mirrored left to right (`horizontal`) or top to bottom (`vertical`); values and type stay as they
// are.
#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Flip final : public Operation {
 public:
  explicit Flip(bool vertical) : vertical_(vertical) {}

  std::string key() const override { return vertical_ ? "flip:vertical" : "flip:horizontal"; }
  // Where neighbours change places, whole pixels are easier to move than rows of samples.
  bool keeps_flat() const noexcept override { return vertical_; }
  Area reads(const Area& result, Extent in) const noexcept override {
    Area area = result;
    if (vertical_)
      area.y = in.height - result.y - result.height;
    else
      area.x = in.width - result.x - result.width;
    return area;
  }

  Image build(const Image& in, Graph&) const override {
    Image out = in;
    if (vertical_) {
      out.read = [in](const Expr& column, const Expr& row) -> Expr { return in.read(column, in.height - 1 - row); };
      return out;
    }
    out.flat = false;
    out.read = [in](const Expr& column, const Expr& row) -> Expr {
      return in.read(in.column_of(in.width - 1 - column), row);
    };
    return out;
  }

 private:
  bool vertical_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_flip(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const size_t value = arguments.choice("value", {"horizontal", "vertical"});
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Flip>(value == 1));
}

}  // namespace framelane::halide
