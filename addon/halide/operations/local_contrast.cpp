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
  std::span<const LiveParameter> live() const noexcept override { return live_; }

  Image build(const Image& unread, Graph& graph) const override {
    const Image in = graph.readable(unread);
    const Func value = in.as_float();
    Func base("base");
    base(Graph::variables(in)) = value(Graph::at(in, mirrored_likely(x, in.width), mirrored(y, in.height)));
    if (stages_) graph.keep_whole(base, in.samples, in.height);

    std::vector<Func> levels{base};
    for (int level = 1; level <= levels_; ++level) levels.push_back(halved(levels.back(), in, graph, level));
    Func surround = levels.back();
    const Func& inside = stages_ ? base : value;  // within the image, no border is in the way
    levels[0] = inside;
    for (int level = levels_ - 1; level >= 0; --level)
      surround = joined(surround, levels[size_t(level)], in, graph, level);

    const Expr centre = inside(Graph::variables(in));
    Image out = in;
    out.func = Func("local_contrast");
    out.func(Graph::variables(in)) = centre + graph.live(0) * (centre - surround(Graph::variables(in)));
    out.exact = false;
    out.cheap = false;
    return out;
  }

 private:
  static Expr rows_of(const Image& in, int level) {
    const int size = 1 << level;
    return (in.height + (size - 1)) / size;
  }

  // A stage within a level: a row ahead of its reader, or in memory as workload R14 wants it.
  void keep_part(Graph& graph, const Func& func, const Image& in, int level) const {
    if (stages_) {
      graph.keep_whole(func, in.samples, rows_of(in, level));
    } else {
      graph.keep_row(func, in.samples);
    }
  }

  Func halved(const Func& fine, const Image& in, Graph& graph, int level) const {
    const std::string name = std::to_string(level);
    Func down("down" + name), half("half" + name);
    const auto row = [&](int k) -> Expr { return fine(Graph::at(in, x, 2 * y + k)); };
    down(Graph::variables(in)) = (row(-1) + row(2) + 3.0F * (row(0) + row(1))) * 0.125F;
    keep_part(graph, down, in, level);
    const auto at = [&](int k) -> Expr { return down(Graph::at(in, 2 * x + k, y)); };
    half(Graph::variables(in)) = (at(-1) + at(2) + 3.0F * (at(0) + at(1))) * 0.125F;
    graph.keep_whole(half, in.samples, rows_of(in, level));
    return half;
  }

  // Half of `fine` and half of `coarse` at twice its size.
  Func joined(const Func& coarse, const Func& fine, const Image& in, Graph& graph, int level) const {
    const std::string name = std::to_string(level);
    Func up("up" + name), across("across" + name), join("join" + name);
    up(Graph::variables(in)) =
        0.25F * coarse(Graph::at(in, x, y / 2 - 1 + 2 * (y % 2))) + 0.75F * coarse(Graph::at(in, x, y / 2));
    keep_part(graph, up, in, level);
    across(Graph::variables(in)) =
        0.25F * up(Graph::at(in, x / 2 - 1 + 2 * (x % 2), y)) + 0.75F * up(Graph::at(in, x / 2, y));
    if (!stages_) graph.keep_doubled_row(across, in.samples);
    join(Graph::variables(in)) = 0.5F * (fine(Graph::variables(in)) + across(Graph::variables(in)));
    if (level > 0 || stages_) graph.keep_whole(join, in.samples, rows_of(in, level));
    return join;
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
