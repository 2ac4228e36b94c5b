#include "halide/graph.h"

#include "halide/values.h"

namespace framelane::halide {

using Halide::Expr;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

const Var x("x"), y("y"), c("c");

Expr mirrored(const Expr& i, const Expr& extent) {
  const Expr period = 2 * (extent - 1);
  const Expr phase = i % period;  // extent 1: Halide defines i % 0 as 0
  return Halide::clamp(Halide::min(phase, period - phase), 0, extent - 1);
}

Expr mirrored_likely(const Expr& i, const Expr& extent) {
  return Halide::select(i < 0 || i >= extent, mirrored(i, extent), Halide::clamp(Halide::likely(i), 0, extent - 1));
}

Graph::Graph(const Plan& plan, const Halide::Target& target, Schedule schedule)
    : plan_(plan),
      target_(target),
      schedule_(schedule),
      lanes_(target.natural_vector_size<float>()),
      input_(halide_type(info(plan.input.pixel).type), plan.graph_samples() == 1 ? 2 : 3, "input"),
      tasks_("tasks") {
  for (const Step& step : plan.steps) {
    StepArguments& arguments = arguments_.emplace_back(StepArguments{Halide::Param<int32_t>(), {}, {}, {}});
    arguments.numbers.resize(step.operation->numbers().size());
    arguments.live.resize(step.operation->live().size());
  }
}

Expr Graph::live(size_t index) const {
  return arguments_[step_].live[index];
}

Expr Graph::number(size_t index) const {
  return arguments_[step_].numbers[index];
}

Expr Graph::own_width() const {
  return arguments_[step_].width;
}

Expr Graph::own_height() const {
  return arguments_[step_].height;
}

std::vector<Expr> Graph::at(const Image& in, const Expr& column, const Expr& row) {
  if (in.samples == 1) return {column, row};
  return {column, row, c};
}

std::vector<Var> Graph::variables(const Image& in) {
  if (in.samples == 1) return {x, y};
  return {x, y, c};
}

void Graph::constrain(Halide::OutputImageParam buffer, uint8_t samples, bool interleaved) const {
  buffer.dim(0).set_min(0);
  buffer.dim(1).set_min(0);
  if (samples == 1) return;
  buffer.dim(2).set_bounds(0, samples);
  if (interleaved) {
    buffer.dim(0).set_stride(samples);
    buffer.dim(2).set_stride(1);
  }
}

Image Graph::source() {
  const uint8_t samples = plan_.graph_samples();
  constrain(input_, samples, info(plan_.input.pixel).arrangement == Arrangement::interleaved);
  Image image;
  image.func = Func("source");
  image.type = info(plan_.input.pixel).type;
  image.samples = samples;
  image.width = input_.dim(0).extent();
  image.height = input_.dim(1).extent();
  image.func(variables(image)) = input_(at(image, x, y));
  return image;
}

Func Graph::finished(const Image& image) const {
  Func out("out");
  const Expr value = image.func(variables(image));
  out(variables(image)) = image.exact ? value : finish_value(value, image.type);
  return out;
}

void Graph::keep_row(Func func, uint8_t samples, TailStrategy tail) {
  if (!scheduled()) return;
  func.compute_at(row_).vectorize(x, lanes_, tail).partition(y, Halide::Partition::Never);
  if (samples > 1) func.bound(c, 0, samples);
}

void Graph::keep_doubled_row(Func func, uint8_t samples) {
  if (!scheduled()) return;
  Var pair("pair"), side("side");
  func.compute_at(row_).align_bounds(x, 2).split(x, pair, side, 2).reorder(side, pair);
  func.unroll(side).vectorize(pair, lanes_, TailStrategy::RoundUp).partition(y, Halide::Partition::Never);
  if (samples > 1) func.bound(c, 0, samples);
}

void Graph::keep_table(Func func) {
  if (scheduled()) func.compute_root();
}

// Strips of rows, one for each task, and whole rows within: `tasks` is an argument of the call.
void Graph::loop_over(Func func, uint8_t samples, bool interleaved, const Expr& rows) {
  constexpr TailStrategy tail = TailStrategy::GuardWithIf;
  Var strip("strip"), row("row");
  func.split(y, strip, row, (rows + tasks_ - 1) / tasks_, TailStrategy::GuardWithIf).parallel(strip);
  if (samples == 1) {
    func.vectorize(x, lanes_, tail).partition(row, Halide::Partition::Never);
    strip_.set(Halide::LoopLevel(func, strip));
  } else if (interleaved) {
    func.reorder(c, x, row, strip).bound(c, 0, samples).vectorize(x, lanes_, tail).unroll(c);
    strip_.set(Halide::LoopLevel(func, strip));
  } else {
    func.reorder(x, row, c, strip).bound(c, 0, samples).vectorize(x, lanes_, tail);
    strip_.set(Halide::LoopLevel(func, c));
  }
  row_.set(Halide::LoopLevel(func, row));
  strip_ = Halide::LoopLevel();
  row_ = Halide::LoopLevel();
}

void Graph::keep_whole(Func func, uint8_t samples, const Expr& rows) {
  if (!scheduled()) return;
  func.compute_root();
  loop_over(func, samples, false, rows);
}

Image Graph::readable(const Image& in) {
  if (in.cheap) return in;
  keep_whole(in.func, in.samples, in.height);
  Image image = in;
  image.cheap = true;
  return image;
}

Halide::Callable Graph::compile() {
  Image image = source();
  for (step_ = 0; step_ < plan_.steps.size(); ++step_) image = plan_.steps[step_].operation->build(image, *this);
  Func out = finished(image);
  const bool interleaved = info(plan_.input.pixel).arrangement == Arrangement::interleaved;
  constrain(out.output_buffer(), image.samples, interleaved);
  if (scheduled()) loop_over(out, image.samples, interleaved, image.height);

  std::vector<Halide::Argument> order{input_, tasks_};
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (plan_.steps[i].operation->resizes()) order.insert(order.end(), {arguments_[i].width, arguments_[i].height});
    order.insert(order.end(), arguments_[i].numbers.begin(), arguments_[i].numbers.end());
  }
  for (const StepArguments& step : arguments_) order.insert(order.end(), step.live.begin(), step.live.end());
  return out.compile_to_callable(order, target_);
}

}  // namespace framelane::halide
