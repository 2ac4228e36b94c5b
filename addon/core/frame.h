// What travels with a frame, and views of frames in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"

namespace framelane {

// Every time in the core is CLOCK_MONOTONIC in nanoseconds.
using MonotonicNs = int64_t;
[[nodiscard]] MonotonicNs monotonic_now_ns() noexcept;

// Thread-safety: a value.
struct FrameMeta {
  uint64_t frame_id = 0;            // the device's own count; gaps are counted as lost{id_gap}
  int64_t device_timestamp_ns = 0;  // the device's clock; 0 when it has none
  MonotonicNs arrival_ns = 0;       // when the last byte was in the slot
  uint32_t width = 0;               // delivered extent: at most the format's
  uint32_t height = 0;
  size_t size_bytes = 0;       // delivered bytes
  bool discontinuity = false;  // first frame after a gap, a loop or a restart
};

enum class MemoryKind : uint8_t { host, device };

// A frame somewhere in memory that someone else owns; valid as long as its slot is held.
// Thread-safety: a value; what it points to is written by the holder of the slot only.
struct FrameView {
  std::byte* data = nullptr;  // a host address, or a device address never dereferenced here
  FrameFormat format;         // width and height as delivered
  MemoryKind memory = MemoryKind::host;
};

}  // namespace framelane
