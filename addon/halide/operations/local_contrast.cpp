// local_contrast { gain, levels }: out = in + gain * (in - surround). The surround is a pyramid: each level halves the
// one before with (1 3 3 1) / 8 in both directions; on the way up each is doubled with (1 3) / 4 and averaged with the
// level it meets (P. Burt, E. Adelson: The Laplacian Pyramid as a Compact Image Code, 1983). The image goes on for
// ever, mirrored without repeating the edge.
#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;
using Halide::Func;

class LocalContrast final : public Operation {
 public:
  LocalContrast(double gain, int levels, bool stages)
      : live_{{"gain", gain, kLeast, kMost}}, levels_(levels), stages_(stages) {}

  static constexpr double kLeast = -1, kMost = 100;
  std::string key() const override { return "local_contrast:" + std::to_string(levels_) + (stages_ ? ":stages" : ""); }
  bool keeps_flat() const noexcept override { return !stages_; }
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& unread, Graph& graph) const override {
    const Image in = graph.readable(unread);
    Image plane = in;  // of the levels: colour is taken apart
    plane.flat = false;
    if (stages_) return build_stages(in, plane, graph);

    std::vector<Func> levels{Func(), first_half(in, plane, graph)};
    for (int level = 2; level <= levels_; ++level) levels.push_back(halved(levels.back(), plane, graph, level));
    Func coarse = levels.back();
    for (int level = levels_ - 1; level > 0; --level) {
      const Func up = doubled(coarse, plane, graph, level);
      Func join("join" + std::to_string(level));
      join(plane.variables()) = 0.5F * (levels[size_t(level)](plane.variables()) + up(plane.variables()));
      graph.keep_whole(join, plane, rows_of(in, level));
      coarse = join;
    }
    const Func up = doubled(coarse, plane, graph, 0);
    Func together = up;
    if (in.flat) {
      together = Func("together");
      together(x, y) = up(x / in.step(), y, x % in.step());
      graph.keep_spread_row(together, in, in.step());
    }
    Image out = in;
    out.read = [in, together, gain = graph.live(0)](const Expr& column, const Expr& row) -> Expr {
      const Expr centre = in.as_float(column, row);
      const Expr surround = 0.5F * (centre + together(in.at(column, row)));
      return centre + gain * (centre - surround);
    };
    out.exact = false;
    out.cheap = false;
    return out;
  }

 private:
  static Expr rows_of(const Image& in, int level) {
    const int size = 1 << level;
    return (in.height + (size - 1)) / size;
  }

  static Expr filtered(const Expr& before, const Expr& first, const Expr& second, const Expr& after) {
    return (before + after + 3.0F * (first + second)) * 0.125F;
  }

  // How far beyond the image the first level's rows are read, for the levels after it to have their borders.
  [[nodiscard]] int reach() const { return 4 << levels_; }

  // The image at half its size, from rows with a mirrored border: the only place where a border is made.
  Func first_half(const Image& in, const Image& plane, Graph& graph) const {
    const Func down = graph.mirrored_row("down1", in, reach(), [&](const Expr& column) -> Expr {
      const auto row = [&](int k) -> Expr { return in.as_float(column, mirrored(2 * y + k, in.height)); };
      return filtered(row(-1), row(0), row(1), row(2));
    });
    Func apart = down;
    if (in.flat) {
      apart = Func("apart");
      apart(x, y, c) = down(x * in.step() + c, y);
      graph.keep_row(apart, plane);
    }
    return across(apart, plane, graph, 1);
  }

  Func halved(const Func& fine, const Image& plane, Graph& graph, int level) const {
    Func down("down" + std::to_string(level));
    const auto row = [&](int k) -> Expr { return fine(plane.at(x, 2 * y + k)); };
    down(plane.variables()) = filtered(row(-1), row(0), row(1), row(2));
    graph.keep_row(down, plane);
    return across(down, plane, graph, level);
  }

  Func across(const Func& down, const Image& plane, Graph& graph, int level) const {
    Func half("half" + std::to_string(level));
    const auto at = [&](int k) -> Expr { return down(plane.at(2 * x + k, y)); };
    half(plane.variables()) = filtered(at(-1), at(0), at(1), at(2));
    graph.keep_whole(half, plane, rows_of(plane, level));
    return half;
  }

  // Workload R14: each of the 2 + 4 * levels stages is written to memory as a whole.
  Image build_stages(const Image& in, const Image& plane, Graph& graph) const {
    Func apart("apart");
    apart(plane.variables()) = in.as_float(in.column_of(x), y);
    const Func endless = Halide::BoundaryConditions::mirror_interior(apart, {{0, in.width}, {0, in.height}});
    const auto stage = [&](Func func, int level, const Expr& expression) -> Func {
      func(plane.variables()) = expression;
      graph.keep_whole(func, plane, rows_of(in, level));
      return func;
    };
    std::vector<Func> levels{stage(Func("base"), 0, endless(plane.variables()))};
    for (int level = 1; level <= levels_; ++level) {
      const Func& fine = levels.back();
      const auto column = [&](int k) -> Expr { return fine(plane.at(2 * x + k, y)); };
      const Func half = stage(Func("across"), level - 1, filtered(column(-1), column(0), column(1), column(2)));
      const auto row = [&](int k) -> Expr { return half(plane.at(x, 2 * y + k)); };
      levels.push_back(stage(Func("half"), level, filtered(row(-1), row(0), row(1), row(2))));
    }
    Func coarse = levels.back();
    for (int level = levels_ - 1; level >= 0; --level) {
      const Func wide =
          stage(Func("wide"), level + 1,
                0.25F * coarse(plane.at(x / 2 - 1 + 2 * (x % 2), y)) + 0.75F * coarse(plane.at(x / 2, y)));
      const Expr up = 0.25F * wide(plane.at(x, y / 2 - 1 + 2 * (y % 2))) + 0.75F * wide(plane.at(x, y / 2));
      coarse = stage(Func("join"), level, 0.5F * (levels[size_t(level)](plane.variables()) + up));
    }
    Image out = plane;
    out.read = [plane, base = levels[0], coarse, gain = graph.live(0)](const Expr& column, const Expr& row) -> Expr {
      const Expr centre = base(plane.at(column, row));
      return centre + gain * (centre - coarse(plane.at(column, row)));
    };
    out.exact = false;
    out.cheap = false;
    return out;
  }

  Func doubled(const Func& coarse, const Image& plane, Graph& graph, int level) const {
    const std::string name = std::to_string(level);
    Func up("up" + name), wide("wide" + name);
    up(plane.variables()) = 0.25F * coarse(plane.at(x, y / 2 - 1 + 2 * (y % 2))) + 0.75F * coarse(plane.at(x, y / 2));
    graph.keep_row(up, plane);
    wide(plane.variables()) = 0.25F * up(plane.at(x / 2 - 1 + 2 * (x % 2), y)) + 0.75F * up(plane.at(x / 2, y));
    graph.keep_spread_row(wide, plane, 2);
    return wide;
  }

  std::vector<LiveParameter> live_;
  int levels_;
  bool stages_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_local_contrast(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const double gain = arguments.number("gain", LocalContrast::kLeast, LocalContrast::kMost);
  const int32_t levels = arguments.whole("levels", 1, 8);
  // `stages` keeps each stage in memory: slower, and the workload R14 of the benchmarks.
  const size_t schedule = arguments.choice("schedule", {"fused", "stages"}, 0);
  if (Status status = arguments.finish(); !status) return status.error();
  return std::unique_ptr<Operation>(std::make_unique<LocalContrast>(gain, levels, schedule == 1));
}

}  // namespace framelane::halide
