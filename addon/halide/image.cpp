#include <algorithm>

#include "halide/graph.h"
#include "halide/operations/operation.h"
#include "halide/values.h"

namespace framelane::halide {

using Halide::Expr;

Area grown(const Area& area, int32_t reach, Extent image) noexcept {
  const int32_t left = std::max(area.x - reach, 0), top = std::max(area.y - reach, 0);
  return {left, top, std::min(area.x + area.width + reach, image.width) - left,
          std::min(area.y + area.height + reach, image.height) - top};
}

float Image::nominal() const noexcept {
  return nominal_range(type);
}

Expr Image::as_float(const Expr& column, const Expr& row) const {
  const Expr value = read(column, row);
  return exact && type != SampleType::float32 ? Halide::cast<float>(value) : value;
}

std::vector<Halide::Var> Image::variables() const {
  if (!has_channels()) return {x, y};
  return {x, y, c};
}

std::vector<Expr> Image::at(const Expr& column, const Expr& row) const {
  if (!has_channels()) return {column, row};
  return {column, row, c};
}

Expr Image::channel(const Expr& pixel, const Expr& row, int k) const {
  if (flat) return as_float(pixel * step() + k, row);
  return Halide::Internal::substitute(c.name(), Expr(k), as_float(pixel, row));
}

Expr Image::column_of(const Expr& pixel) const {
  return flat ? pixel * step() + c : pixel;
}

}  // namespace framelane::halide
