#include "halide/graph.h"

#include "halide/launch_runtime.h"
#include "halide/values.h"

namespace framelane::halide {

using Halide::Expr;
using Halide::Func;
using Halide::Partition;
using Halide::RDom;
using Halide::TailStrategy;
using Halide::Var;

const Var x("x"), y("y"), c("c");

Expr mirrored(const Expr& i, const Expr& extent) {
  const Expr period = 2 * (extent - 1);
  const Expr phase = i % period;  // extent 1: Halide defines i % 0 as 0
  return Halide::clamp(Halide::min(phase, period - phase), 0, extent - 1);
}

Expr by_channel(const Expr& red, const Expr& green, const Expr& blue) {
  return Halide::select(c == 0, red, c == 1, green, blue);
}

Graph::Graph(const Plan& plan, const Halide::Target& target, Schedule schedule)
    : plan_(plan),
      target_(target),
      schedule_(schedule),
      lanes_(target.natural_vector_size<float>()),
      input_(halide_type(info(plan.input.pixel).type), plan.flat_input || info(plan.input.pixel).samples == 1 ? 2 : 3,
             "input"),
      tasks_("tasks"),
      width_("width"),
      height_("height") {
  for (const Step& step : plan.steps) {
    StepArguments& arguments = arguments_.emplace_back(StepArguments{});
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

void Graph::constrain(Halide::OutputImageParam buffer, bool has_channels, bool interleaved) {
  buffer.dim(0).set_min(0);
  buffer.dim(1).set_min(0);
  if (!has_channels) return;
  buffer.dim(2).set_bounds(0, 3);
  if (!interleaved) return;
  buffer.dim(0).set_stride(3);
  buffer.dim(2).set_stride(1);
}

Image Graph::source() {
  Image image;
  image.flat = plan_.flat_input;
  image.type = info(plan_.input.pixel).type;
  image.samples = info(plan_.input.pixel).samples;
  image.width = width_;
  image.height = height_;
  constrain(input_, image.has_channels(), false);
  image.read = [input = input_, like = image](const Expr& column, const Expr& row) -> Expr {
    return input(like.at(column, row));
  };
  return image;
}

Func Graph::finished(const Image& image) const {
  Func out("out");
  const Expr value = image.read(x, y);
  out(image.variables()) = image.exact ? value : finish_value(value, image.type);
  return out;
}

void Graph::keep_row(Func func, const Image& like) {
  if (!scheduled()) return;
  if (on_gpu()) return keep_in_tile(func, like);
  func.compute_at(row_).vectorize(x, lanes_, TailStrategy::RoundUp).partition(y, Partition::Never);
  if (like.has_channels()) func.bound(c, 0, like.samples);
}

void Graph::keep_inner_row(Func func, const Image& like, int reads, const Expr& rows) {
  if (!scheduled()) return;
  if (on_gpu()) {
    // Which columns are read is in a table: no tile knows. A few times over costs less than a way through memory.
    constexpr int kFew = 4;
    if (reads == 0 || reads > kFew) keep_whole(func, like, rows);
    return;
  }
  func.compute_at(row_).vectorize(x, lanes_, TailStrategy::GuardWithIf).partition(y, Partition::Never);
  if (like.has_channels()) func.bound(c, 0, like.samples);
}

void Graph::keep_spread_row(Func func, const Image& like, int parts) {
  if (!scheduled()) return;
  if (on_gpu()) return keep_in_tile(func, like);
  Var group("group"), part("part");
  func.compute_at(row_).align_bounds(x, parts).split(x, group, part, parts).reorder(part, group);
  func.unroll(part).vectorize(group, lanes_, TailStrategy::RoundUp).partition(y, Partition::Never);
  if (like.has_channels()) func.bound(c, 0, like.samples);
}

// The borders are copied within the row when its inside is done: no select, no mirrored index where most of the work
// is.
Func Graph::mirrored_row(const std::string& name, const Image& like, int reach,
                         const std::function<Expr(const Expr&)>& value) {
  Func row(name);
  const int step = like.step();
  if (!scheduled() || on_gpu()) {
    row(like.variables()) =
        value(step == 1 ? mirrored(x, like.width) : mirrored(x / step, like.width) * step + x % step);
    if (scheduled()) keep_in_tile(row, like);
    return row;
  }
  const RDom inside(0, like.width * step), border(0, step, 1, reach);
  const Expr left = -border.y, right = like.width - 1 + border.y;
  const auto copy = [&](const Expr& column) {
    row(like.at(column * step + border.x, y)) = row(like.at(mirrored(column, like.width) * step + border.x, y));
  };
  const Expr inner = value(inside);
  row(like.variables()) = Halide::undef(inner.type());
  row(like.at(inside, y)) = inner;
  copy(left);
  copy(right);
  row.compute_at(row_).partition(y, Partition::Never);
  row.update(0).vectorize(inside, lanes_, TailStrategy::GuardWithIf).partition(y, Partition::Never);
  row.update(1).partition(border.y, Partition::Never);
  row.update(2).partition(border.y, Partition::Never);
  if (like.has_channels()) row.bound(c, 0, like.samples);
  return row;
}

void Graph::keep_table(Func func) {
  if (!scheduled()) return;
  func.compute_root();
  if (on_gpu()) table_kernel(func);
}

// Strips of rows, one for each task, and whole rows of all channels within: `tasks` is an argument of the call.
void Graph::loop_over(Func func, const Image& like, bool interleaved, const Expr& rows) {
  if (on_gpu()) return tile_over(func, like, interleaved);
  Var strip("strip"), row("row");
  func.split(y, strip, row, (rows + tasks_ - 1) / tasks_, TailStrategy::GuardWithIf).parallel(strip);
  if (!like.has_channels()) {
    func.reorder(x, row, strip).vectorize(x, lanes_, TailStrategy::GuardWithIf);
  } else if (interleaved) {
    func.reorder(c, x, row, strip).bound(c, 0, 3).vectorize(x, lanes_, TailStrategy::GuardWithIf).unroll(c);
  } else {
    func.reorder(x, c, row, strip).bound(c, 0, 3).vectorize(x, lanes_, TailStrategy::GuardWithIf);
  }
  func.partition(row, Partition::Never).partition(strip, Partition::Never);
  row_.set(Halide::LoopLevel(func, row));
  row_ = Halide::LoopLevel();
}

void Graph::keep_whole(Func func, const Image& like, const Expr& rows) {
  func.compute_root();
  if (scheduled()) loop_over(func, like, false, rows);
}

Image Graph::readable(const Image& in) {
  if (in.cheap) return in;
  Func whole("whole");
  whole(in.variables()) = in.read(x, y);
  keep_whole(whole, in, in.height);
  Image image = in;
  image.read = [whole, in](const Expr& column, const Expr& row) -> Expr { return whole(in.at(column, row)); };
  image.cheap = true;
  return image;
}

Halide::Callable Graph::compile(GpuRuntime runtime) {
  Image image = source();
  for (step_ = 0; step_ < plan_.steps.size(); ++step_) image = plan_.steps[step_].operation->build(image, *this);
  Func out = finished(image);
  const bool interleaved = info(plan_.input.pixel).arrangement == Arrangement::interleaved;
  constrain(out.output_buffer(), image.has_channels(), interleaved);
  if (scheduled()) loop_over(out, image, interleaved, image.height);

  std::vector<Halide::Argument> order{input_, tasks_, width_, height_};
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (plan_.steps[i].operation->resizes()) order.insert(order.end(), {arguments_[i].width, arguments_[i].height});
    order.insert(order.end(), arguments_[i].numbers.begin(), arguments_[i].numbers.end());
  }
  for (const StepArguments& step : arguments_) order.insert(order.end(), step.live.begin(), step.live.end());
  Halide::Pipeline pipeline(out);
  if (on_gpu() && runtime == GpuRuntime::ours) pipeline.set_jit_externs(launch_functions());
  return pipeline.compile_to_callable(order, target_);
}

}  // namespace framelane::halide
