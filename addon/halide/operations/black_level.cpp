// black_level { value }: out = in - value. The value is in counts of the type of the channel's source, or a share of
// its nominal range; neither rounded nor clipped.
#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"
#include "halide/values.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class BlackLevel final : public Operation {
 public:
  BlackLevel(double value, const OperationInput& in)
      : live_{{"value", value, 0, nominal_range(in.source)}},
        scale_(nominal_range(in.type) / nominal_range(in.source)) {}

  std::string key() const override { return "black_level:" + number_text(scale_); }
  Area reads(const Area& result, Extent) const noexcept override { return result; }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& in, Graph& graph) const override {
    Image out = in;
    out.read = [in, level = graph.live(0) * scale_](const Expr& column, const Expr& row) -> Expr {
      return in.as_float(column, row) - level;
    };
    out.exact = false;
    return out;
  }

 private:
  std::vector<LiveParameter> live_;
  float scale_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_black_level(const OperationSpec& spec, const OperationInput& in) {
  Arguments arguments(spec);
  const double value = arguments.level("value", nominal_range(in.source));
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<BlackLevel>(value, in));
}

}  // namespace framelane::halide
