// The statistics block: one file on tmpfs that the supervisor creates, the engine maps and writes,
// and the supervisor reads with plain file reads. It outlives the engine. This header is its only
// description: scripts/generate-stats-layout prints src/engine/stats-layout.gen.ts from it.
//
// File: Header, then `engine_capacity` times EngineBlock, then `channel_capacity` times ChannelBlock.
// A group has one writer. `sequence` is odd while the writer is inside; a reader takes the sequence,
// the group, and the sequence again, and accepts the group when both are equal and even.
// Counters only grow, also across engines: the next engine carries on in the same cells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace framelane::stats {

inline constexpr uint64_t kMagic = 0x3154'4154'5346'4c46;  // "FLFSTAT1", little endian
inline constexpr uint32_t kVersion = 2;
inline constexpr size_t kNameBytes = 64;  // UTF-8, NUL-terminated
inline constexpr size_t kSinksPerChannel = 8;
inline constexpr size_t kDriverFunctions = 96;  // of a device's driver; the list names those that there are
inline constexpr size_t kGroupAlignment = 64;

// Histogram of durations: HDR-style, 16 linear sub-buckets in each power of two.
// Bin of v nanoseconds: v < 16 -> v; else with e = floor(log2 v): (e - 3) * 16 + ((v >> (e - 4)) & 15).
inline constexpr size_t kHistogramSubBuckets = 16;
inline constexpr size_t kHistogramBins = 35 * kHistogramSubBuckets;  // up to 2^38 ns = 274 s; more goes to the last bin

using Cell = std::atomic<uint64_t>;
static_assert(Cell::is_always_lock_free && sizeof(Cell) == 8);

// Written by the source's delivering thread.
#define FRAMELANE_SOURCE_CELLS(X)                     \
  X(received)        /* frames that reached a slot */ \
  X(received_bytes)  /* */                            \
  X(lost_transport)  /* */                            \
  X(lost_incomplete) /* */                            \
  X(lost_id_gap)     /* */                            \
  X(lost_ring_full)  /* */                            \
  X(dropped_overwritten)                              \
  X(dropped_superseded)                               \
  X(last_frame_id)                                    \
  X(last_arrival_ns) /* CLOCK_MONOTONIC */

// Written by the channel's worker thread.
#define FRAMELANE_WORKER_CELLS(X)                                             \
  X(processed)                                                                \
  X(dropped_late)                                                             \
  X(dropped_error)                                                            \
  X(dropped_restart)                                                          \
  X(dropped_shutdown)                                                         \
  X(deadline_missed)                                                          \
  X(last_processed_ns) /* CLOCK_MONOTONIC */                                  \
  X(state)             /* ChannelState */                                     \
  X(state_since_ns)    /* CLOCK_MONOTONIC */                                  \
  X(error_code)        /* ErrorCode of the last failure; 0: none */           \
  X(restarts_source)   /* the source failed and was re-opened */              \
  X(restarts_pipeline) /* */                                                  \
  X(restarts_engine)   /* an engine took over these cells */                  \
  X(restarts_device)   /* an engine took over after the loss of the device */ \
  X(restarts_command)  /* asked for */                                        \
  X(compilations)                                                             \
  X(pipeline_swaps)                                                           \
  X(slots_total)        /* gauge */                                           \
  X(slots_full)         /* gauge: waiting for the worker */                   \
  X(slots_reading)      /* gauge: being uploaded or processed */              \
  X(expected_fps_milli) /* gauge: 1/1000 frames per second; 0: unknown */     \
  X(input_width)                                                              \
  X(input_height)                                                             \
  X(input_pixel) /* PixelFormat */                                            \
  X(output_width)                                                             \
  X(output_height)                                                            \
  X(output_pixel)                                                             \
  X(lanes)           /* gauge */                                              \
  X(replay)          /* gauge: Replay */                                      \
  X(replay_obstacle) /* gauge: ReplayObstacle */                              \
  X(captures)        /* graphs captured */                                    \
  X(staged_frames)   /* went through a pinned buffer */

// Written by the sink's thread.
#define FRAMELANE_SINK_CELLS(X)                         \
  X(written)                                            \
  X(written_bytes)                                      \
  X(failed)     /* frames that write() refused */       \
  X(dropped)    /* written by the worker: queue full */ \
  X(error_code) /* 0: none */

#define FRAMELANE_STAGES(X) X(wait) X(upload) X(compute) X(download) X(total)

#define FRAMELANE_CHANNEL_STATES(X) \
  X(idle) X(compiling) X(starting) X(running) X(stalled) X(backoff) X(faulted) X(finished) X(stopped)

// Written by the engine's heartbeat thread, except events_lost.
#define FRAMELANE_ENGINE_CELLS(X)                     \
  X(pid)                                              \
  X(heartbeat_ns) /* CLOCK_MONOTONIC, every 100 ms */ \
  X(starts)                                           \
  X(events_lost) /* events that found their queue full; any native thread */

// Written by the engine's statistics thread, four times a second: what DeviceReport says. Gauges unless they say
// otherwise; the others grow, also across engines.
#define FRAMELANE_DEVICE_CELLS(X)                                            \
  X(in_use_bytes)                                                            \
  X(cached_bytes)                                                            \
  X(reserved_bytes)   /* taken from the driver, neither in use nor cached */ \
  X(high_water_bytes) /* of this engine */                                   \
  X(buffers)                                                                 \
  X(pinned_bytes)                                                            \
  X(pinned_lent_bytes) /* of what was taken at start */                      \
  X(max_bytes)         /* in force; 0: none */                               \
  X(max_buffers)       /* in force; 0: none */                               \
  X(hits)              /* counter */                                         \
  X(misses)            /* counter */                                         \
  X(refusals)          /* counter */                                         \
  X(trims)             /* counter */                                         \
  X(pinned_refusals)   /* counter */                                         \
  X(upload_waits)      /* counter */                                         \
  X(download_waits)    /* counter */                                         \
  X(bus_overruns)      /* counter */                                         \
  X(steady_alarms)     /* counter */                                         \
  X(losses)            /* counter; written by whoever saw the device go */

// One function of the device's driver; written by the same thread.
#define FRAMELANE_DRIVER_FUNCTION_CELLS(X) X(calls) /* counter */

enum class ChannelState : uint64_t {
#define FRAMELANE_STATE(name) name,
  FRAMELANE_CHANNEL_STATES(FRAMELANE_STATE)
#undef FRAMELANE_STATE
};

enum class Stage : uint8_t {
#define FRAMELANE_STAGE(name) name,
  FRAMELANE_STAGES(FRAMELANE_STAGE)
#undef FRAMELANE_STAGE
};
inline constexpr size_t kStages = 5;

#define FRAMELANE_CELL(name) Cell name;
struct alignas(kGroupAlignment) SourceGroup {
  Cell sequence;
  FRAMELANE_SOURCE_CELLS(FRAMELANE_CELL)
};
struct alignas(kGroupAlignment) WorkerGroup {
  Cell sequence;
  FRAMELANE_WORKER_CELLS(FRAMELANE_CELL)
};
// No sequence: its cells are not compared with each other.
struct alignas(kGroupAlignment) SinkGroup {
  FRAMELANE_SINK_CELLS(FRAMELANE_CELL)
};

struct alignas(kGroupAlignment) Histogram {
  Cell count;
  Cell sum_ns;
  Cell max_ns;
  Cell bins[kHistogramBins];
};

struct alignas(kGroupAlignment) ChannelBlock {
  char name[kNameBytes];  // written by the supervisor before an engine uses the block
  WorkerGroup worker;
  SourceGroup source;
  SinkGroup sinks[kSinksPerChannel];
  Histogram stages[kStages];
};

// No sequence: its cells are not compared with each other.
struct alignas(kGroupAlignment) DeviceGroup {
  FRAMELANE_DEVICE_CELLS(FRAMELANE_CELL)
};

inline constexpr size_t kFunctionNameBytes = 40;
inline constexpr size_t kFunctionKindBytes = 16;
struct alignas(kGroupAlignment) DriverFunction {
  char name[kFunctionNameBytes];  // "cuMemAlloc", NUL-terminated; empty: there is none
  char kind[kFunctionKindBytes];  // "alloc"
  FRAMELANE_DRIVER_FUNCTION_CELLS(FRAMELANE_CELL)
};

// One per engine process; channels may move between engines, their cells do not move.
struct alignas(kGroupAlignment) EngineBlock {
  char name[kNameBytes];  // "cpu", "cuda:0"; written by the supervisor
  FRAMELANE_ENGINE_CELLS(FRAMELANE_CELL)
  DeviceGroup device;
  DriverFunction functions[kDriverFunctions];  // in the driver list's order; the rest is empty
};
#undef FRAMELANE_CELL

struct alignas(kGroupAlignment) Header {
  uint64_t magic;
  uint32_t version;
  uint32_t layout_hash;  // of the cell names and offsets; both sides must agree
  uint32_t engine_capacity;
  uint32_t channel_capacity;
};

}  // namespace framelane::stats
