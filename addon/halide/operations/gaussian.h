// The blur that several operations build on.
#pragma once

#include <functional>
#include <string>

#include "halide/graph.h"

namespace framelane::halide {

// Of a Gaussian with a standard deviation of `radius` pixels, cut at ceil(3 * radius) and normalised, over borders
// mirrored without repeating the edge (reflect-101).
// Thread-safety: immutable.
class GaussianBlur {
 public:
  static constexpr double kLeast = 0.1, kMost = 20;
  explicit GaussianBlur(double radius) : radius_(radius) {}

  [[nodiscard]] double radius() const noexcept { return radius_; }
  // What of a frame is read for a part of the result.
  [[nodiscard]] Area reads(const Area& result, Extent in) const noexcept;
  // The blurred value at a column and a row of `in`, which must be readable(). `name`: of what is stored on the way.
  [[nodiscard]] std::function<Halide::Expr(const Halide::Expr&, const Halide::Expr&)> build(const std::string& name,
                                                                                            const Image& in,
                                                                                            Graph& graph) const;

 private:
  [[nodiscard]] std::vector<float> half_kernel() const;

  double radius_;
};

}  // namespace framelane::halide
