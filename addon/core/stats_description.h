// The statistics block as data: names and offsets of all cells, and the hash by which a reader
// recognises the layout that it was generated for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/format.h"
#include "core/replay.h"
#include "core/stats_layout.h"

namespace framelane::stats {

// Thread-safety: a value.
struct CellDescription {
  std::string_view name;
  size_t offset_bytes = 0;  // from the start of its group
};

#define FRAMELANE_DESCRIBE_SOURCE(cell) CellDescription{#cell, offsetof(SourceGroup, cell)},
#define FRAMELANE_DESCRIBE_WORKER(cell) CellDescription{#cell, offsetof(WorkerGroup, cell)},
#define FRAMELANE_DESCRIBE_SINK(cell) CellDescription{#cell, offsetof(SinkGroup, cell)},
#define FRAMELANE_DESCRIBE_ENGINE(cell) CellDescription{#cell, offsetof(EngineBlock, cell)},
#define FRAMELANE_DESCRIBE_DEVICE(cell) CellDescription{#cell, offsetof(DeviceGroup, cell)},
#define FRAMELANE_DESCRIBE_FUNCTION(cell) CellDescription{#cell, offsetof(DriverFunction, cell)},
inline constexpr std::array kSourceCells{FRAMELANE_SOURCE_CELLS(FRAMELANE_DESCRIBE_SOURCE)};
inline constexpr std::array kWorkerCells{FRAMELANE_WORKER_CELLS(FRAMELANE_DESCRIBE_WORKER)};
inline constexpr std::array kSinkCells{FRAMELANE_SINK_CELLS(FRAMELANE_DESCRIBE_SINK)};
inline constexpr std::array kEngineCells{FRAMELANE_ENGINE_CELLS(FRAMELANE_DESCRIBE_ENGINE)};
inline constexpr std::array kDeviceCells{FRAMELANE_DEVICE_CELLS(FRAMELANE_DESCRIBE_DEVICE)};
inline constexpr std::array kFunctionCells{FRAMELANE_DRIVER_FUNCTION_CELLS(FRAMELANE_DESCRIBE_FUNCTION)};
#undef FRAMELANE_DESCRIBE_DEVICE
#undef FRAMELANE_DESCRIBE_FUNCTION
#undef FRAMELANE_DESCRIBE_SOURCE
#undef FRAMELANE_DESCRIBE_WORKER
#undef FRAMELANE_DESCRIBE_SINK
#undef FRAMELANE_DESCRIBE_ENGINE

inline constexpr std::array kHistogramCells{
    CellDescription{"count", offsetof(Histogram, count)}, CellDescription{"sum_ns", offsetof(Histogram, sum_ns)},
    CellDescription{"max_ns", offsetof(Histogram, max_ns)}, CellDescription{"bins", offsetof(Histogram, bins)}};

inline constexpr std::array kHeaderFields{CellDescription{"magic", offsetof(Header, magic)},
                                          CellDescription{"version", offsetof(Header, version)},
                                          CellDescription{"layout_hash", offsetof(Header, layout_hash)},
                                          CellDescription{"engine_capacity", offsetof(Header, engine_capacity)},
                                          CellDescription{"channel_capacity", offsetof(Header, channel_capacity)}};

#define FRAMELANE_NAME(name) std::string_view{#name},
#define FRAMELANE_ERROR(code) std::string_view{#code},
inline constexpr std::array kStageNames{FRAMELANE_STAGES(FRAMELANE_NAME)};
inline constexpr std::array kStateNames{FRAMELANE_CHANNEL_STATES(FRAMELANE_NAME)};
inline constexpr std::array kReplayNames{FRAMELANE_REPLAYS(FRAMELANE_NAME)};
inline constexpr std::array kReplayObstacleNames{FRAMELANE_REPLAY_OBSTACLES(FRAMELANE_NAME)};
inline constexpr std::array kErrorNames{
#include "core/error_codes.def"
};
#undef FRAMELANE_ERROR
#undef FRAMELANE_NAME
static_assert(kStageNames.size() == kStages);

[[nodiscard]] constexpr std::string_view to_string(ChannelState state) noexcept {
  const auto index = static_cast<size_t>(state);
  return index < kStateNames.size() ? kStateNames[index] : std::string_view{"idle"};
}

// FNV-1a, 32 bits. Thread-safety: a value.
class LayoutHash {
 public:
  constexpr void add(std::string_view text) noexcept {
    for (const char c : text) step(static_cast<uint8_t>(c));
    step(0);
  }
  constexpr void add(size_t number) noexcept {
    for (int shift = 0; shift < 64; shift += 8) step(static_cast<uint8_t>(uint64_t{number} >> shift));
  }
  constexpr void add(std::span<const CellDescription> cells) noexcept {
    for (const CellDescription& cell : cells) {
      add(cell.name);
      add(cell.offset_bytes);
    }
  }
  constexpr void add(std::span<const std::string_view> names) noexcept {
    for (const std::string_view name : names) add(name);
  }
  [[nodiscard]] constexpr uint32_t value() const noexcept { return value_; }

 private:
  constexpr void step(uint8_t byte) noexcept { value_ = (value_ ^ byte) * 16'777'619U; }
  uint32_t value_ = 2'166'136'261U;
};

[[nodiscard]] constexpr uint32_t layout_hash() noexcept {
  LayoutHash hash;
  hash.add(std::span<const CellDescription>(kHeaderFields));
  hash.add(std::span<const CellDescription>(kEngineCells));
  hash.add(std::span<const CellDescription>(kDeviceCells));
  hash.add(std::span<const CellDescription>(kFunctionCells));
  hash.add(std::span<const CellDescription>(kWorkerCells));
  hash.add(std::span<const CellDescription>(kSourceCells));
  hash.add(std::span<const CellDescription>(kSinkCells));
  hash.add(std::span<const CellDescription>(kHistogramCells));
  hash.add(std::span<const std::string_view>(kStageNames));
  hash.add(std::span<const std::string_view>(kStateNames));
  hash.add(std::span<const std::string_view>(kReplayNames));
  hash.add(std::span<const std::string_view>(kReplayObstacleNames));
  hash.add(std::span<const std::string_view>(kErrorNames));
  for (const size_t number : {sizeof(Header),
                              sizeof(EngineBlock),
                              sizeof(ChannelBlock),
                              sizeof(WorkerGroup),
                              sizeof(SourceGroup),
                              sizeof(SinkGroup),
                              sizeof(Histogram),
                              offsetof(ChannelBlock, worker),
                              offsetof(ChannelBlock, source),
                              offsetof(ChannelBlock, sinks),
                              offsetof(ChannelBlock, stages),
                              sizeof(DeviceGroup),
                              sizeof(DriverFunction),
                              offsetof(EngineBlock, device),
                              offsetof(EngineBlock, functions),
                              offsetof(DriverFunction, name),
                              offsetof(DriverFunction, kind),
                              kDriverFunctions,
                              kNameBytes,
                              kSinksPerChannel,
                              kHistogramSubBuckets,
                              kHistogramBins,
                              kPixelFormatCount})
    hash.add(number);
  return hash.value();
}

}  // namespace framelane::stats
