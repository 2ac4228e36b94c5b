// One Halide graph from a plan: who holds the arguments, the loops and the schedule.
#pragma once

#include <Halide.h>

#include <string>
#include <vector>

#include "halide/operations/operation.h"
#include "halide/plan.h"

namespace framelane::halide {

// `none` leaves every Func inline in the plain loops of the output: what a schedule has to beat.
enum class Schedule : uint8_t { tuned, none };

extern const Halide::Var x, y, c;  // column, row, channel of every Func

// Index `i` of a row or column of `extent` samples, mirrored without repeating the border (reflect-101).
[[nodiscard]] Halide::Expr mirrored(const Halide::Expr& i, const Halide::Expr& extent);
// The same for the vectorised variable: the loop is cut in three, and its middle does without.
[[nodiscard]] Halide::Expr mirrored_likely(const Halide::Expr& i, const Halide::Expr& extent);

// Order of the compiled code's arguments: input buffer, `tasks`, for each step its extent when it has one of its own
// and its numbers, for each step its live parameters, output buffer.
// Thread-safety: owned by the compiling thread.
class Graph {
 public:
  Graph(const Plan& plan, const Halide::Target& target, Schedule schedule);

  [[nodiscard]] Halide::Callable compile();

  // For an operation's build():
  [[nodiscard]] Halide::Expr live(size_t index) const;    // its live parameter
  [[nodiscard]] Halide::Expr number(size_t index) const;  // its number
  [[nodiscard]] Halide::Expr own_width() const;           // of its result
  [[nodiscard]] Halide::Expr own_height() const;
  [[nodiscard]] int32_t flat_factor() const noexcept { return plan_.flat_factor(); }
  [[nodiscard]] const Halide::Target& target() const noexcept { return target_; }
  [[nodiscard]] bool scheduled() const noexcept { return schedule_ != Schedule::none; }
  [[nodiscard]] int lanes() const noexcept { return lanes_; }  // float32 lanes worth working on at once

  // A Func of the same dimensions as `in`.
  [[nodiscard]] static std::vector<Halide::Expr> at(const Image& in, const Halide::Expr& column,
                                                    const Halide::Expr& row);
  [[nodiscard]] static std::vector<Halide::Var> variables(const Image& in);

  // Stores the part of `func` that a row of the consuming loop reads, just before that row. RoundUp computes whole
  // vectors: `func` must then be defined beyond the right border.
  void keep_row(Halide::Func func, uint8_t samples, Halide::TailStrategy tail = Halide::TailStrategy::RoundUp);
  // As keep_row, for a func that reads its source at x / 2: even and odd columns side by side.
  void keep_doubled_row(Halide::Func func, uint8_t samples);
  // A small table, computed once for a frame.
  void keep_table(Halide::Func func);
  // Stores the whole of `func` in memory in a loop of its own; what follows reads it there.
  void keep_whole(Halide::Func func, uint8_t samples, const Halide::Expr& rows);
  // As an image in memory when it is not cheap, so that it may be read often.
  [[nodiscard]] Image readable(const Image& in);

 private:
  struct StepArguments {
    Halide::Param<int32_t> width, height;
    std::vector<Halide::Param<int32_t>> numbers;
    std::vector<Halide::Param<float>> live;
  };

  [[nodiscard]] Image source();
  [[nodiscard]] Halide::Func finished(const Image& image) const;
  void loop_over(Halide::Func func, uint8_t samples, bool interleaved, const Halide::Expr& rows);
  void constrain(Halide::OutputImageParam buffer, uint8_t samples, bool interleaved) const;

  const Plan& plan_;
  Halide::Target target_;
  Schedule schedule_;
  int lanes_;
  Halide::ImageParam input_;
  Halide::Param<int32_t> tasks_;
  std::vector<StepArguments> arguments_;
  size_t step_ = 0;
  // Of the loop that will consume what is being built; set when that loop is known.
  Halide::LoopLevel strip_, row_;
};

}  // namespace framelane::halide
