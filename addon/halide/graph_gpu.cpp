// The graph's schedule for a GPU: one thread for each pixel, tiles of threads with a memory that they share.
#include "halide/graph.h"

namespace framelane::halide {

using Halide::Func;
using Halide::Partition;
using Halide::TailStrategy;
using Halide::Var;

namespace {

// A warp's stores lie side by side; eight rows share what a stencil reads of its neighbours.
constexpr int kTileColumns = 32, kTileRows = 8;

}  // namespace

void Graph::tile_over(Func func, const Image& like, bool interleaved) {
  Var tile_x("tile_x"), tile_y("tile_y"), column("column"), row("row");
  func.gpu_tile(x, y, tile_x, tile_y, column, row, kTileColumns, kTileRows, TailStrategy::GuardWithIf);
  if (like.has_channels()) {
    func.bound(c, 0, like.samples);
    if (interleaved) {
      func.reorder(c, column, row, tile_x, tile_y).unroll(c);
    } else {
      func.reorder(column, row, tile_x, tile_y, c).gpu_blocks(c);
    }
  }
  func.partition(column, Partition::Never).partition(row, Partition::Never);
  row_.set(Halide::LoopLevel(func, tile_x));
  row_ = Halide::LoopLevel();
}

// As many threads as the tile has, each at several places where more than the tile is needed.
void Graph::keep_in_tile(Func func, const Image& like) {
  Var part("part"), column("column");
  func.compute_at(row_).split(x, part, column, kTileColumns, TailStrategy::GuardWithIf);
  if (like.has_channels()) {
    func.bound(c, 0, like.samples).reorder(c, part, column, y).unroll(c);
  } else {
    func.reorder(part, column, y);
  }
  func.gpu_threads(column, y).partition(part, Partition::Never).partition(column, Partition::Never);
}

void Graph::table_kernel(Func func) {
  constexpr int kThreads = 64;
  const std::vector<Var> variables = func.args();
  Var block("block"), thread("thread");
  func.split(variables[0], block, thread, kThreads, TailStrategy::GuardWithIf);
  if (variables.size() > 1) func.reorder(variables[1], thread, block);
  func.gpu_blocks(block).gpu_threads(thread);
}

}  // namespace framelane::halide
