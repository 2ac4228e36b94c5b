// unsharp { amount, radius }: out = in + amount * (in - blur), where blur is a Gaussian of sigma = radius pixels.
#include "halide/operations/arguments.h"
#include "halide/operations/gaussian.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Unsharp final : public Operation {
 public:
  Unsharp(double amount, double radius) : live_{{"amount", amount, kLeast, kMost}}, blur_(radius) {}

  static constexpr double kLeast = 0, kMost = 100;
  std::string key() const override { return "unsharp:" + number_text(blur_.radius()); }
  Area reads(const Area& result, Extent in) const noexcept override { return blur_.reads(result, in); }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& unread, Graph& graph) const override {
    const Image in = graph.readable(unread);
    Image out = in;
    out.read = [in, blur = blur_.build("unsharp_down", in, graph), amount = graph.live(0)](const Expr& column,
                                                                                           const Expr& row) -> Expr {
      const Expr centre = in.as_float(column, row);
      return centre + amount * (centre - blur(column, row));
    };
    out.exact = false;
    out.cheap = false;
    return out;
  }

 private:
  std::vector<LiveParameter> live_;
  GaussianBlur blur_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_unsharp(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const double amount = arguments.number("amount", Unsharp::kLeast, Unsharp::kMost);
  const double radius = arguments.number("radius", GaussianBlur::kLeast, GaussianBlur::kMost, 1);
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Unsharp>(amount, radius));
}

}  // namespace framelane::halide
