// unsharp { amount, radius }: out = in + amount * (in - blur), where blur is a Gaussian of sigma = radius pixels, cut
// at ceil(3 * sigma) and normalised, over borders mirrored without repeating the edge (reflect-101).
#include <algorithm>
#include <cmath>

#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;
using Halide::Func;

class Unsharp final : public Operation {
 public:
  Unsharp(double amount, double radius) : live_{{"amount", amount, kLeast, kMost}}, radius_(radius) {}

  static constexpr double kLeast = 0, kMost = 100;
  std::string key() const override { return "unsharp:" + number_text(radius_); }
  Area reads(const Area& result, Extent in) const noexcept override {
    const auto reach = static_cast<int32_t>(std::ceil(3 * radius_));
    const auto side = [reach](int32_t& start, int32_t& length, int32_t whole) {
      const int32_t end = std::min(start + length + reach, whole);
      start = std::max(start - reach, 0);
      length = end - start;
    };
    Area area = result;
    side(area.x, area.width, in.width);
    side(area.y, area.height, in.height);
    return area;
  }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& unread, Graph& graph) const override {
    const Image in = graph.readable(unread);
    const std::vector<float> weights = half_kernel();
    const int reach = static_cast<int>(weights.size()) - 1;

    // Down the columns first: whole rows are added, and a row's index is mirrored once for the whole row.
    const Func down = graph.mirrored_row("unsharp_down", in, reach, [&](const Expr& column) -> Expr {
      const auto row = [&](int k) -> Expr { return in.as_float(column, mirrored(y + k, in.height)); };
      Expr sum = weights[0] * row(0);
      for (int k = 1; k <= reach; ++k) sum += weights[size_t(k)] * (row(-k) + row(k));
      return sum;
    });
    Image out = in;
    out.read = [in, down, weights, amount = graph.live(0)](const Expr& column, const Expr& row) -> Expr {
      const auto beside = [&](int k) -> Expr { return down(in.at(column + k * in.step(), row)); };
      Expr blur = weights[0] * beside(0);
      for (int k = 1; k < static_cast<int>(weights.size()); ++k) blur += weights[size_t(k)] * (beside(-k) + beside(k));
      const Expr centre = in.as_float(column, row);
      return centre + amount * (centre - blur);
    };
    out.exact = false;
    out.cheap = false;
    return out;
  }

 private:
  [[nodiscard]] std::vector<float> half_kernel() const {
    const int reach = static_cast<int>(std::ceil(3 * radius_));
    std::vector<double> exact;
    double total = 0;
    for (int k = 0; k <= reach; ++k) {
      exact.push_back(std::exp(-0.5 * k * k / (radius_ * radius_)));
      total += k == 0 ? exact.back() : 2 * exact.back();
    }
    std::vector<float> weights;
    for (const double weight : exact) weights.push_back(static_cast<float>(weight / total));
    return weights;
  }

  std::vector<LiveParameter> live_;
  double radius_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_unsharp(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const double amount = arguments.number("amount", Unsharp::kLeast, Unsharp::kMost);
  const double radius = arguments.number("radius", 0.1, 20, 1);
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Unsharp>(amount, radius));
}

}  // namespace framelane::halide
