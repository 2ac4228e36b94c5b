// gaussian { radius }: blurred, over mirrored borders; neither rounded nor clipped.
#include "halide/operations/gaussian.h"

#include <cmath>

#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {

using Halide::Expr;
using Halide::Func;

Area GaussianBlur::reads(const Area& result, Extent in) const noexcept {
  return grown(result, static_cast<int32_t>(std::ceil(3 * radius_)), in);
}

std::vector<float> GaussianBlur::half_kernel() const {
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

std::function<Expr(const Expr&, const Expr&)> GaussianBlur::build(const std::string& name, const Image& in,
                                                                  Graph& graph) const {
  const std::vector<float> weights = half_kernel();
  const int reach = static_cast<int>(weights.size()) - 1;
  // Down the columns first: whole rows are added, and a row's index is mirrored once for the whole row.
  const Func down = graph.mirrored_row(name, in, reach, [&](const Expr& column) -> Expr {
    const auto row = [&](int k) -> Expr { return in.as_float(column, mirrored(y + k, in.height)); };
    Expr sum = weights[0] * row(0);
    for (int k = 1; k <= reach; ++k) sum += weights[size_t(k)] * (row(-k) + row(k));
    return sum;
  });
  return [in, down, weights](const Expr& column, const Expr& row) -> Expr {
    const auto beside = [&](int k) -> Expr { return down(in.at(column + k * in.step(), row)); };
    Expr blur = weights[0] * beside(0);
    for (int k = 1; k < static_cast<int>(weights.size()); ++k) blur += weights[size_t(k)] * (beside(-k) + beside(k));
    return blur;
  };
}

namespace {

class Gaussian final : public Operation {
 public:
  explicit Gaussian(double radius) : blur_(radius) {}

  std::string key() const override { return "gaussian:" + number_text(blur_.radius()); }
  Area reads(const Area& result, Extent in) const noexcept override { return blur_.reads(result, in); }

  Image build(const Image& unread, Graph& graph) const override {
    Image out = graph.readable(unread);
    out.read = blur_.build("gaussian_down", out, graph);
    out.exact = false;
    out.cheap = false;
    return out;
  }

 private:
  GaussianBlur blur_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_gaussian(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const double radius = arguments.number("radius", GaussianBlur::kLeast, GaussianBlur::kMost);
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Gaussian>(radius));
}

}  // namespace framelane::halide
