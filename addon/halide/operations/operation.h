// What every operation of a pipeline is to the graph: its arguments, its geometry, its numbers and its code.
#pragma once

#include <Halide.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/pipeline.h"

namespace framelane::halide {

struct Extent {
  int32_t width = 0;   // pixels
  int32_t height = 0;  // rows
  bool operator==(const Extent&) const = default;
};

// A rectangle of an image. Thread-safety: a value.
struct Area {
  int32_t x = 0, y = 0;
  int32_t width = 0, height = 0;
  bool operator==(const Area&) const = default;
};

[[nodiscard]] inline Area whole_of(Extent extent) noexcept {
  return {0, 0, extent.width, extent.height};
}

// With `reach` pixels more on each side, as far as there are any.
[[nodiscard]] Area grown(const Area& area, int32_t reach, Extent image) noexcept;

// A scalar that may change from frame to frame: a float argument of the compiled code.
struct LiveParameter {
  std::string name;  // within its operation: "value"
  double value = 0;
  double minimum = 0;
  double maximum = 0;
};

class Graph;

// An image between two operations. read() is defined within the image only; an operation that reads beyond brings its
// own border.
// Thread-safety: a value of the compiling thread.
struct Image {
  // The value at a column and a row, as an expression: a chain of operations is one expression. With three samples and
  // not `flat`: of channel `c`. `flat`: interleaved colour as rows of 3 * width samples, column = 3 * pixel + channel:
  // neighbours are three apart, and every load is of neighbours in memory.
  std::function<Halide::Expr(const Halide::Expr& column, const Halide::Expr& row)> read;
  bool flat = false;
  SampleType type = SampleType::uint8;  // names the nominal range
  bool exact = true;                    // values of `type` itself; otherwise float32, neither rounded nor clipped
  uint8_t samples = 1;                  // of a pixel: 1 or 3
  Halide::Expr width, height;           // pixels
  bool cheap = true;                    // a few instructions: computing it again costs less than storing it

  // In the nominal range, whatever `exact` says.
  [[nodiscard]] Halide::Expr as_float(const Halide::Expr& column, const Halide::Expr& row) const;
  [[nodiscard]] float nominal() const noexcept;                           // 255, 65535 or 1
  [[nodiscard]] int step() const noexcept { return flat ? samples : 1; }  // from a column to the next
  [[nodiscard]] bool has_channels() const noexcept { return samples > 1 && !flat; }
  // For a Func with this image's dimensions.
  [[nodiscard]] std::vector<Halide::Var> variables() const;
  [[nodiscard]] std::vector<Halide::Expr> at(const Halide::Expr& column, const Halide::Expr& row) const;
  // Of a colour image: channel `k` of a pixel, as as_float().
  [[nodiscard]] Halide::Expr channel(const Halide::Expr& pixel, const Halide::Expr& row, int k) const;
  // Where a pixel lies in a row: of a flat image, its channel that is being computed of one that is not.
  [[nodiscard]] Halide::Expr column_of(const Halide::Expr& pixel) const;
};

// One operation with its arguments taken in. Generated code depends on key() alone: numbers() and live values are
// arguments of the call, so that pipelines that differ only in them share code.
// Thread-safety: immutable; build() on one thread at a time.
class Operation {
 public:
  virtual ~Operation() = default;

  [[nodiscard]] virtual std::string key() const = 0;
  // Whether a flat image gives a flat one.
  [[nodiscard]] virtual bool keeps_flat() const noexcept { return true; }
  // Geometry of the result for a frame that may be smaller than the largest. 0 rows: nothing is left.
  [[nodiscard]] virtual Extent extent(Extent in) const noexcept { return in; }
  // What of a frame of this extent is read for this part of the result.
  [[nodiscard]] virtual Area reads(const Area& result, Extent in) const noexcept {
    (void)result;
    return whole_of(in);
  }
  [[nodiscard]] virtual bool resizes() const noexcept { return false; }  // has an extent of its own
  [[nodiscard]] virtual SampleType type(SampleType in) const noexcept { return in; }
  [[nodiscard]] virtual std::span<const LiveParameter> live() const noexcept { return {}; }
  [[nodiscard]] virtual std::span<const int32_t> numbers() const noexcept { return {}; }
  // Adds the Funcs that it needs on the way to the graph, each with its storage.
  [[nodiscard]] virtual Image build(const Image& in, Graph& graph) const = 0;
};

// What make_*() gets to see of the image that the operation will work on.
struct OperationInput {
  Extent largest;
  SampleType type = SampleType::uint8;
  uint8_t samples = 1;
  SampleType source = SampleType::uint8;  // of the channel's frames: what levels are counted in
};

using MakeOperation = Result<std::unique_ptr<Operation>> (*)(const OperationSpec&, const OperationInput&);

// One for each file of this folder. Errors are pipeline_invalid sentences without the operation's place in the list.
Result<std::unique_ptr<Operation>> make_black_level(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_color_matrix(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_convert(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_crop(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_flip(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_gain(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_gamma(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_gaussian(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_local_contrast(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_median(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_resize(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_rotate(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_threshold(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_unsharp(const OperationSpec&, const OperationInput&);
Result<std::unique_ptr<Operation>> make_white_balance(const OperationSpec&, const OperationInput&);

// nullptr: no such operation.
[[nodiscard]] MakeOperation find_operation(const std::string& name) noexcept;

}  // namespace framelane::halide
