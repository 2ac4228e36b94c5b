// convert { type }: to another sample type. The nominal range is scaled to the new type's: uint8 255, uint16 65535 and
// float32 1.0 are the same brightness. Integers are rounded half away from zero and saturated; float32 is neither.
#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"
#include "halide/values.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Convert final : public Operation {
 public:
  explicit Convert(SampleType to) : to_(to) {}

  std::string key() const override { return "convert:" + std::to_string(static_cast<int>(to_)); }
  Area reads(const Area& result, Extent) const noexcept override { return result; }
  SampleType type(SampleType) const noexcept override { return to_; }

  Image build(const Image& in, Graph&) const override {
    Image out = in;
    out.type = to_;
    out.exact = true;
    if (in.exact && in.type == to_) return out;
    out.read = [in, to = to_](const Expr& column, const Expr& row) -> Expr {
      return finish_value(scaled(in.as_float(column, row), in.nominal(), nominal_range(to)), to);
    };
    return out;
  }

 private:
  static Expr scaled(const Expr& value, float from_range, float to_range) {
    // Dividing keeps whole steps whole (65535 / 257); multiplying by an inexact reciprocal would not.
    if (to_range > from_range) return value * (to_range / from_range);
    if (to_range < from_range) return value / (from_range / to_range);
    return value;
  }

  SampleType to_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_convert(const OperationSpec& spec, const OperationInput&) {
  static constexpr SampleType kTypes[] = {SampleType::uint8, SampleType::uint16, SampleType::float32};
  Arguments arguments(spec);
  const size_t type = arguments.choice("type", {"uint8", "uint16", "float32"});
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Convert>(kTypes[type]));
}

}  // namespace framelane::halide
