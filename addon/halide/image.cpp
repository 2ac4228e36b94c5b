#include "halide/graph.h"
#include "halide/operations/operation.h"
#include "halide/values.h"

namespace framelane::halide {

using Halide::Expr;

float Image::nominal() const noexcept {
  return nominal_range(type);
}

Halide::Func Image::as_float() const {
  if (!exact || type == SampleType::float32) return func;
  Halide::Func result("as_float");
  result(variables()) = Halide::cast<float>(func(variables()));
  return result;
}

std::vector<Halide::Var> Image::variables() const {
  if (!has_channels()) return {x, y};
  return {x, y, c};
}

std::vector<Expr> Image::at(const Expr& column, const Expr& row) const {
  if (!has_channels()) return {column, row};
  return {column, row, c};
}

std::vector<Expr> Image::beside(int columns) const {
  return at(x + columns * step(), y);
}

}  // namespace framelane::halide
