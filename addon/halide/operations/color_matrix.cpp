// color_matrix { matrix }: nine numbers, row by row; out = matrix * (red, green, blue), in the nominal range.
#include <array>

#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class ColorMatrix final : public Operation {
 public:
  static constexpr double kMost = 100;
  explicit ColorMatrix(const std::vector<double>& matrix) {
    for (size_t i = 0; i < matrix.size(); ++i)
      live_.push_back({"matrix[" + std::to_string(i) + "]", matrix[i], -kMost, kMost});
  }

  std::string key() const override { return "color_matrix"; }
  bool keeps_flat() const noexcept override { return false; }
  Area reads(const Area& result, Extent) const noexcept override { return result; }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  // Each channel of the result reads all three of the image.
  Image build(const Image& unread, Graph& graph) const override {
    const Image in = graph.readable(unread);
    Image out = in;
    out.flat = false;
    std::array<Expr, 3> factors;
    for (size_t k = 0; k < 3; ++k) factors[k] = by_channel(graph.live(k), graph.live(3 + k), graph.live(6 + k));
    out.read = [in, factors](const Expr& column, const Expr& row) -> Expr {
      return factors[0] * in.channel(column, row, 0) + factors[1] * in.channel(column, row, 1) +
             factors[2] * in.channel(column, row, 2);
    };
    out.exact = false;
    return out;
  }

 private:
  std::vector<LiveParameter> live_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_color_matrix(const OperationSpec& spec, const OperationInput& in) {
  Arguments arguments(spec);
  const std::vector<double> matrix = arguments.numbers("matrix", 9, -ColorMatrix::kMost, ColorMatrix::kMost);
  if (Status status = arguments.finish(); !status) return status.error();
  if (in.samples != 3) return needs_colour();
  return std::unique_ptr<Operation>(std::make_unique<ColorMatrix>(matrix));
}

}  // namespace framelane::halide
