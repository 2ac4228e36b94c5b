// One Halide graph from a plan: who holds the arguments, the loops and the schedule.
#pragma once

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

#include "halide/operations/operation.h"
#include "halide/plan.h"

namespace framelane::halide {

// `none` leaves every Func inline in plain loops, but for what is kept whole, which would multiply: what a schedule has
// to beat.
enum class Schedule : uint8_t { tuned, none };

// Who serves compiled code on a GPU: our launch functions, or the CUDA runtime that Halide brings along.
enum class GpuRuntime : uint8_t { ours, halides };

extern const Halide::Var x, y, c;  // column, row, channel of every Func

// Index `i` of a row or column of `extent` samples, mirrored without repeating the border (reflect-101).
[[nodiscard]] Halide::Expr mirrored(const Halide::Expr& i, const Halide::Expr& extent);

// What holds for the channel that is being computed.
[[nodiscard]] Halide::Expr by_channel(const Halide::Expr& red, const Halide::Expr& green, const Halide::Expr& blue);

// Order of the compiled code's arguments: input buffer; tasks, width and height of the frame; for each step its extent
// when it has one of its own, and its numbers; for each step its live parameters; output buffer.
// Thread-safety: owned by the compiling thread.
class Graph {
 public:
  Graph(const Plan& plan, const Halide::Target& target, Schedule schedule);

  [[nodiscard]] Halide::Callable compile(GpuRuntime runtime = GpuRuntime::ours);

  // For an operation's build():
  [[nodiscard]] Halide::Expr live(size_t index) const;    // its live parameter
  [[nodiscard]] Halide::Expr number(size_t index) const;  // its number
  [[nodiscard]] Halide::Expr own_width() const;           // of its result
  [[nodiscard]] Halide::Expr own_height() const;
  [[nodiscard]] bool scheduled() const noexcept { return schedule_ != Schedule::none; }

  // The kinds of storage between the input and the output. On the CPU a row is computed just before the consuming
  // loop's row; on a GPU it is the part of it that a tile of threads needs, in their shared memory.

  // Only what that row reads, in whole vectors: `func` must be defined beyond the right border.
  void keep_row(Halide::Func func, const Image& like);
  // A row without what lies beyond it, for a func that is read at clamped columns, `reads` times for each result (0:
  // not known now).
  void keep_inner_row(Halide::Func func, const Image& like, int reads, const Halide::Expr& rows);
  // For a func that reads its source at x / parts: what shares a source lies side by side.
  void keep_spread_row(Halide::Func func, const Image& like, int parts);
  // A row of value(column), which is defined within the image, and `reach` pixels of mirror image on either side.
  [[nodiscard]] Halide::Func mirrored_row(const std::string& name, const Image& like, int reach,
                                          const std::function<Halide::Expr(const Halide::Expr&)>& value);
  // A small table, computed once for a frame.
  void keep_table(Halide::Func func);
  // The whole of `func` in memory, in a loop of its own; what follows reads it there.
  void keep_whole(Halide::Func func, const Image& like, const Halide::Expr& rows);
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
  void loop_over(Halide::Func func, const Image& like, bool interleaved, const Halide::Expr& rows);
  // graph_gpu.cpp: kernels instead of loops.
  [[nodiscard]] bool on_gpu() const { return target_.has_gpu_feature(); }
  void tile_over(Halide::Func func, const Image& like, bool interleaved);
  void keep_in_tile(Halide::Func func, const Image& like);
  static void table_kernel(Halide::Func func);
  static void constrain(Halide::OutputImageParam buffer, bool has_channels, bool interleaved);

  const Plan& plan_;
  Halide::Target target_;
  Schedule schedule_;
  int lanes_;  // float32 values worth working on at once
  Halide::ImageParam input_;
  Halide::Param<int32_t> tasks_, width_, height_;
  std::vector<StepArguments> arguments_;
  size_t step_ = 0;
  // Of the loop that will consume what is being built; set when that loop is known.
  Halide::LoopLevel row_;
};

}  // namespace framelane::halide
