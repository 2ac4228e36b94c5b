// threshold { value }: the top of the nominal range where in > value, else 0 (OpenCV's THRESH_BINARY), of each channel.
// The value is in counts of the type of the channel's source, or a share of its nominal range.
#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"
#include "halide/values.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Threshold final : public Operation {
 public:
  Threshold(double value, const OperationInput& in)
      : live_{{"value", value, 0, nominal_range(in.source)}},
        scale_(nominal_range(in.type) / nominal_range(in.source)) {}

  std::string key() const override { return "threshold:" + number_text(scale_); }
  Area reads(const Area& result, Extent) const noexcept override { return result; }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& in, Graph& graph) const override {
    Image out = in;
    out.read = [in, level = graph.live(0) * scale_](const Expr& column, const Expr& row) -> Expr {
      return Halide::select(in.as_float(column, row) > level, in.nominal(), 0.0F);
    };
    out.exact = false;
    return out;
  }

 private:
  std::vector<LiveParameter> live_;
  float scale_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_threshold(const OperationSpec& spec, const OperationInput& in) {
  Arguments arguments(spec);
  const double value = arguments.level("value", nominal_range(in.source));
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Threshold>(value, in));
}

}  // namespace framelane::halide
