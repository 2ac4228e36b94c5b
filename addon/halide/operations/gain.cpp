// gain { value }: out = in * value, in the nominal range.
#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Gain final : public Operation {
 public:
  explicit Gain(double value) : live_{{"value", value, kLeast, kMost}} {}

  static constexpr double kLeast = 0, kMost = 1000;
  std::string key() const override { return "gain"; }
  Area reads(const Area& result, Extent) const noexcept override { return result; }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& in, Graph& graph) const override {
    Image out = in;
    out.read = [in, value = graph.live(0)](const Expr& column, const Expr& row) -> Expr {
      return in.as_float(column, row) * value;
    };
    out.exact = false;
    return out;
  }

 private:
  std::vector<LiveParameter> live_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_gain(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const double value = arguments.number("value", Gain::kLeast, Gain::kMost);
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Gain>(value));
}

}  // namespace framelane::halide
