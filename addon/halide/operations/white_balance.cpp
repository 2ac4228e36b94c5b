// white_balance { red, green, blue }: each channel times its factor.
#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class WhiteBalance final : public Operation {
 public:
  static constexpr double kMost = 100;
  WhiteBalance(double red, double green, double blue)
      : live_{{"red", red, 0, kMost}, {"green", green, 0, kMost}, {"blue", blue, 0, kMost}} {}

  std::string key() const override { return "white_balance"; }
  bool keeps_flat() const noexcept override { return false; }
  Area reads(const Area& result, Extent) const noexcept override { return result; }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& in, Graph& graph) const override {
    Image out = in;
    out.flat = false;
    const Expr factor = by_channel(graph.live(0), graph.live(1), graph.live(2));
    out.read = [in, factor](const Expr& column, const Expr& row) -> Expr {
      return in.as_float(in.column_of(column), row) * factor;
    };
    out.exact = false;
    return out;
  }

 private:
  std::vector<LiveParameter> live_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_white_balance(const OperationSpec& spec, const OperationInput& in) {
  Arguments arguments(spec);
  const double red = arguments.number("red", 0, WhiteBalance::kMost, 1);
  const double green = arguments.number("green", 0, WhiteBalance::kMost, 1);
  const double blue = arguments.number("blue", 0, WhiteBalance::kMost, 1);
  if (Status status = arguments.finish(); !status) return status.error();
  if (in.samples != 3) return needs_colour();
  return std::unique_ptr<Operation>(std::make_unique<WhiteBalance>(red, green, blue));
}

}  // namespace framelane::halide
