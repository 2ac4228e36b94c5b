// resize { width, height, method }: nearest, bilinear, bicubic or area, with OpenCV's conventions: pixel centres at
// half integers, borders repeated, no prefilter for bilinear and bicubic (a = -0.75); area is the exact mean over the
// pixel's footprint in both directions; nearest is OpenCV's INTER_NEAREST_EXACT. A frame that is smaller than the
// largest gives a result that is smaller in the same proportion.
#include <algorithm>
#include <cmath>

#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

enum class Method : size_t { nearest, bilinear, bicubic, area };
constexpr const char* kMethods[] = {"nearest", "bilinear", "bicubic", "area"};

// Keys' cubic, a = -0.75: the weights of the pixels at -1, 0, 1, 2 for a position `t` after pixel 0.
std::vector<Expr> cubic_weights(const Expr& t) {
  constexpr float a = -0.75F;
  const auto near = [](const Expr& d) -> Expr { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](const Expr& d) -> Expr { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const Expr w0 = far(t + 1), w1 = near(t), w2 = near(1 - t);
  return {w0, w1, w2, 1 - w0 - w1 - w2};
}

// What one axis reads: pixel first(i) and its followers, with weight(i, k). Tables computed once for a frame.
struct Taps {
  Func first{"first"};
  Func weight{"weight"};
  int fixed = 0;  // number of taps; 0: `count`
  Expr count;
};

class Resize final : public Operation {
 public:
  Resize(Extent to, Method method, Extent largest) : to_(to), method_(method), largest_(largest) {}

  std::string key() const override { return std::string("resize:") + kMethods[size_t(method_)]; }
  bool keeps_flat() const noexcept override { return false; }
  bool resizes() const noexcept override { return true; }
  Extent extent(Extent in) const noexcept override {
    return {part(to_.width, in.width, largest_.width), part(to_.height, in.height, largest_.height)};
  }

  Image build(const Image& unread, Graph& graph) const override {
    const Image in = graph.readable(unread);
    Image out = in;
    out.width = graph.own_width();
    out.height = graph.own_height();
    out.cheap = false;
    out.flat = false;
    const Taps columns = taps(in.width, out.width, graph), rows = taps(in.height, out.height, graph);
    if (method_ == Method::nearest) {
      out.read = [=](const Expr& column, const Expr& row) -> Expr {
        return in.read(in.column_of(clamped(columns.first(column), in.width)), clamped(rows.first(row), in.height));
      };
      return out;
    }
    // Down the columns first: the rows that an output row needs are added up as whole rows.
    Func down("resize_down");
    down(in.variables()) =
        weighted(rows, y, [&](const Expr& k) -> Expr { return in.as_float(x, clamped(rows.first(y) + k, in.height)); });
    graph.keep_inner_row(down, in, columns.fixed, out.height);
    out.read = [=](const Expr& column, const Expr& row) -> Expr {
      return weighted(columns, column, [&](const Expr& k) -> Expr {
        return down(in.at(in.column_of(clamped(columns.first(column) + k, in.width)), row));
      });
    };
    out.exact = false;
    return out;
  }

 private:
  static int32_t part(int32_t to, int32_t in, int32_t largest) noexcept {
    if (in <= 0) return 0;
    return std::max(1, static_cast<int32_t>(std::lround(double(to) * in / largest)));
  }

  static Expr clamped(const Expr& i, const Expr& extent) { return Halide::clamp(i, 0, extent - 1); }

  template <typename Read>
  static Expr weighted(const Taps& taps, const Expr& at, const Read& read) {
    if (taps.fixed == 0) {
      const RDom k(0, taps.count);
      return Halide::sum(taps.weight(at, k) * read(k));
    }
    Expr sum = taps.weight(at, 0) * read(0);
    for (int k = 1; k < taps.fixed; ++k) sum += taps.weight(at, k) * read(k);
    return sum;
  }

  Taps taps(const Expr& from, const Expr& to, Graph& graph) const {
    Taps taps;
    const Var i("i"), k("k");
    // float64 holds every product of two extents exactly.
    const auto scaled = [&](const Expr& place) -> Expr { return place * cast<double>(from) / cast<double>(to); };
    const Expr position = scaled(cast<double>(i) + 0.5F) - 0.5F;
    const Expr whole = cast<int32_t>(Halide::floor(position));
    const Expr rest = cast<float>(position - Halide::floor(position));
    if (method_ == Method::nearest) {
      taps.first(i) = cast<int32_t>(Halide::floor(scaled(cast<double>(i) + 0.5F)));
    } else if (method_ == Method::bilinear) {
      taps.fixed = 2;
      taps.first(i) = whole;
      taps.weight(i, k) = Halide::select(k == 0, 1 - rest, rest);
    } else if (method_ == Method::bicubic) {
      taps.fixed = 4;
      taps.first(i) = whole - 1;
      const std::vector<Expr> w = cubic_weights(rest);
      taps.weight(i, k) = Halide::select(k == 0, w[0], k == 1, w[1], k == 2, w[2], w[3]);
    } else {
      // The footprint [i, i + 1) * from / to, and how much of it each pixel covers.
      const Expr begin = scaled(cast<double>(i)), end = scaled(cast<double>(i) + 1);
      taps.first(i) = cast<int32_t>(Halide::floor(begin));
      const Expr pixel = cast<double>(taps.first(i) + k);
      const Expr covered = Halide::max(Halide::min(end, pixel + 1) - Halide::max(begin, pixel), cast<double>(0));
      taps.weight(i, k) = cast<float>(covered / scaled(cast<double>(1)));
      taps.count = cast<int32_t>(Halide::ceil(scaled(cast<double>(1)))) + 1;
    }
    graph.keep_table(taps.first);
    if (method_ != Method::nearest) graph.keep_table(taps.weight);
    return taps;
  }

  Extent to_;
  Method method_;
  Extent largest_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_resize(const OperationSpec& spec, const OperationInput& in) {
  constexpr int32_t kMost = 1 << 20;
  Arguments arguments(spec);
  const int32_t width = arguments.whole("width", 1, kMost);
  const int32_t height = arguments.whole("height", 1, kMost);
  const size_t method = arguments.choice("method", {std::begin(kMethods), std::end(kMethods)}, 1);
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<Resize>(Extent{width, height}, Method(method), in.largest));
}

}  // namespace framelane::halide
