// crop { x, y, width, height }: a rectangle of the image, in pixels; values and type stay as they are. From a frame
// that is shorter than the largest it takes the rows that are there.
#include <algorithm>
#include <array>

#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;

class Crop final : public Operation {
 public:
  Crop(int32_t left, int32_t top, Extent size) : numbers_{left, top}, size_(size) {}

  std::string key() const override { return "crop"; }
  bool resizes() const noexcept override { return true; }
  Area reads(const Area& result, Extent) const noexcept override {
    return {result.x + numbers_[0], result.y + numbers_[1], result.width, result.height};
  }
  std::span<const int32_t> numbers() const noexcept override { return numbers_; }
  Extent extent(Extent in) const noexcept override {
    return {std::clamp(in.width - numbers_[0], 0, size_.width), std::clamp(in.height - numbers_[1], 0, size_.height)};
  }

  Image build(const Image& in, Graph& graph) const override {
    Image out = in;
    out.width = graph.own_width();
    out.height = graph.own_height();
    out.read = [in, left = graph.number(0), top = graph.number(1)](const Expr& column, const Expr& row) -> Expr {
      return in.read(column + left * in.step(), row + top);
    };
    return out;
  }

 private:
  std::array<int32_t, 2> numbers_;
  Extent size_;
};

std::string outside(const char* what, int32_t from, int32_t length, int32_t most, const char* unit) {
  return std::string(what) + " " + std::to_string(from) + " + " + std::to_string(length) + " is beyond the image's " +
         std::to_string(most) + " " + unit;
}

}  // namespace

Result<std::unique_ptr<Operation>> make_crop(const OperationSpec& spec, const OperationInput& in) {
  constexpr int32_t kMost = 1 << 30;
  Arguments arguments(spec);
  const int32_t left = arguments.whole("x", 0, kMost);
  const int32_t top = arguments.whole("y", 0, kMost);
  const int32_t width = arguments.whole("width", 1, kMost);
  const int32_t height = arguments.whole("height", 1, kMost);
  if (Status status = arguments.finish(); !status) return status.error();
  if (left > in.largest.width - width)
    return pipeline_invalid(outside("x + width", left, width, in.largest.width, "columns"));
  if (top > in.largest.height - height)
    return pipeline_invalid(outside("y + height", top, height, in.largest.height, "rows"));
  return std::unique_ptr<Operation>(std::make_unique<Crop>(left, top, Extent{width, height}));
}

}  // namespace framelane::halide
