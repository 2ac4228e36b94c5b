// gamma { value }: out = in^(1 / value) with the nominal range as 0..1; what is below 0 counts as 0.
#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Gamma final : public Operation {
 public:
  explicit Gamma(double value) : live_{{"value", value, kLeast, kMost}} {}

  static constexpr double kLeast = 0.05, kMost = 20;
  std::string key() const override { return "gamma"; }
  Area reads(const Area& result, Extent) const noexcept override { return result; }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& in, Graph& graph) const override {
    Image out = in;
    out.read = [in, value = graph.live(0)](const Expr& column, const Expr& row) -> Expr {
      const Expr part = Halide::max(in.as_float(column, row) * (1.0F / in.nominal()), 0.0F);
      return Halide::pow(part, 1.0F / value) * in.nominal();
    };
    out.exact = false;
    out.cheap = false;
    return out;
  }

 private:
  std::vector<LiveParameter> live_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_gamma(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const double value = arguments.number("value", Gamma::kLeast, Gamma::kMost);
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Gamma>(value));
}

}  // namespace framelane::halide
