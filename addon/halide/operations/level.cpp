#include "halide/operations/level.h"

#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/values.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Level final : public Operation {
 public:
  Level(std::string name, double value, const OperationInput& in, ApplyLevel apply)
      : name_(std::move(name)),
        live_{{"value", value, 0, nominal_range(in.source)}},
        scale_(nominal_range(in.type) / nominal_range(in.source)),
        apply_(apply) {}

  std::string key() const override { return name_ + ":" + number_text(scale_); }
  Area reads(const Area& result, Extent) const noexcept override { return result; }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& in, Graph& graph) const override {
    Image out = in;
    out.read = [in, level = graph.live(0) * scale_, apply = apply_](const Expr& column, const Expr& row) -> Expr {
      return apply(in.as_float(column, row), level, in.nominal());
    };
    out.exact = false;
    return out;
  }

 private:
  std::string name_;
  std::vector<LiveParameter> live_;
  float scale_;
  ApplyLevel apply_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_level(const OperationSpec& spec, const OperationInput& in, ApplyLevel apply) {
  Arguments arguments(spec);
  const double value = arguments.level("value", nominal_range(in.source));
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Level>(spec.name, value, in, apply));
}

}  // namespace framelane::halide
