// How a pipeline's frames get onto the device, as pipelines report it and statistics show it.
#pragma once

#include <cstdint>

namespace framelane {

#define FRAMELANE_REPLAYS(X)                \
  X(none)     /* no such choice: the CPU */ \
  X(captured) /* a captured graph is run */ \
  X(direct)   /* each kernel is launched */

// Why frames run directly.
#define FRAMELANE_REPLAY_OBSTACLES(X)                                      \
  X(none)                                                                  \
  X(not_replayable)  /* the pipeline does what cannot be captured */       \
  X(capture_failed)  /* the driver refused, also the second time */        \
  X(out_of_memory)   /* the blocks that a graph keeps would not fit */     \
  X(varying_extents) /* the frame is smaller than what was captured for */ \
  X(switched_off)    /* the device was opened so, for a measurement */

#define FRAMELANE_NAME(name) name,
enum class Replay : uint8_t { FRAMELANE_REPLAYS(FRAMELANE_NAME) };
enum class ReplayObstacle : uint8_t { FRAMELANE_REPLAY_OBSTACLES(FRAMELANE_NAME) };
#undef FRAMELANE_NAME

// Thread-safety: a value.
struct PipelineReport {
  Replay replay = Replay::none;
  ReplayObstacle obstacle = ReplayObstacle::none;
  uint64_t captures = 0;       // graphs captured, re-captures included
  uint64_t staged_frames = 0;  // copied through a pinned buffer, for their own memory is not pinned
  bool operator==(const PipelineReport&) const = default;
};

}  // namespace framelane
