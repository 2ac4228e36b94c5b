// A device that pipelines run on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/pipeline.h"

namespace framelane {

// What an engine is told about its device. Thread-safety: a value.
struct DeviceOptions {
  std::string id = "cpu";             // "cpu", "cuda:0"
  std::string library;                // the driver's library; empty: the system's own
  DeviceLimits limits;                // of the device's memory, all channels together
  uint64_t reserve_bytes = 0;         // device memory taken at start; 0: none
  uint64_t pinned_reserve_bytes = 0;  // host memory taken and page-locked at start; 0: none
  int64_t frame_timeout_ns = 0;       // a frame that the device has for longer means that the device is lost; 0: never
  std::string cache_directory;        // for compiled code; empty: none is kept
  bool replay = true;                 // false: frames run directly, to be compared with replayed ones
};

// Thread-safety: a value.
struct DeviceInfo {
  std::string id;    // "cpu", "cuda:0"
  std::string name;  // "AMD EPYC, 16 cores"
  uint64_t memory_bytes = 0;
  uint32_t cores = 0;
  std::string uuid;          // "GPU-b8c5...", as the driver's tools spell it; empty: none
  std::string bus_id;        // "0000:3b:00.0"; empty: none
  std::string architecture;  // "sm_90"; empty: none
  std::string driver;        // "13.0": what the driver supports; empty: none
  int numa_node = -1;        // -1: unknown
};

// How often a function of a driver was called by this process. Thread-safety: a value.
struct DriverCalls {
  std::string_view function;  // "cuMemAlloc"; lives for ever
  std::string_view kind;      // "alloc"; lives for ever
  uint64_t calls = 0;
};

// What a device does with its memory and its driver. Counts grow from 0 in each process. Thread-safety: a value.
struct DeviceReport {
  // Device memory, bytes: handed out to channels; kept for them; the rest of what was taken from the driver.
  uint64_t in_use_bytes = 0;
  uint64_t cached_bytes = 0;
  uint64_t reserved_bytes = 0;
  uint64_t high_water_bytes = 0;  // most that was ever in use
  uint64_t buffers = 0;           // in use and cached
  uint64_t hits = 0;              // allocations answered without the driver
  uint64_t misses = 0;
  uint64_t refusals = 0;           // allocations that got nothing: a bound was reached, or memory is out
  uint64_t trims = 0;              // blocks that went back to the driver
  uint64_t pinned_bytes = 0;       // page-locked host memory
  uint64_t pinned_lent_bytes = 0;  // in use of what was taken at start
  uint64_t pinned_refusals = 0;    // mappings that the driver did not page-lock
  uint64_t upload_waits = 0;       // copies to the device that waited for their turn on the bus
  uint64_t download_waits = 0;     // copies from it that did
  uint64_t bus_overruns = 0;       // of these: went without a turn, for none came in time; wanted: 0
  uint64_t steady_alarms = 0;      // driver calls on frames' way that the steady state does not allow; wanted: 0
  std::vector<DriverCalls> calls;  // same order every time; empty: no driver
};

// Thread-safety: device_lost() is called once, from any thread, and does not block.
class DeviceListener {
 public:
  virtual ~DeviceListener() = default;
  // Nothing of this process will run on the device again. The caller may be stuck in the driver soon after.
  virtual void device_lost(const Error& why) noexcept = 0;
};

// Thread-safety: all member functions may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const noexcept = 0;

  // Memory for slots that no other process is to see, fast for this device's copies from the start: of what was taken
  // at start, until forget_host(). Stalls nobody. nullptr: none is left; then the caller has its own adopted.
  [[nodiscard]] virtual std::byte* lend_host(size_t size_bytes) noexcept {
    (void)size_bytes;
    return nullptr;
  }

  // Makes a mapping of slots, `slot_bytes` each, fast for this device's copies (page-locks it on a GPU; nothing on the
  // CPU); no copy may reach from one slot into the next. Sleeps in between, so that other channels' copies wait for the
  // locking of a few MiB at most. The caller keeps the memory alive until forget_host().
  virtual Status adopt_host(void* data, size_t size_bytes, size_t slot_bytes) = 0;
  virtual void forget_host(void* data) noexcept = 0;  // what was lent, or adopted

  // Lives as long as the device.
  [[nodiscard]] virtual PipelineCompiler& compiler() noexcept = 0;

  // New bounds of the device's memory: for all channels together (`channel` empty), or for the channel of this name,
  // also one that comes later. What is in use above a bound stays in use; what is cached above it is given back in the
  // background. Does not wait for the device.
  virtual Status set_limits(const std::string& channel, const DeviceLimits& limits) {
    (void)channel;
    (void)limits;
    return Error{ErrorCode::unsupported, "device " + info().id + " has no memory of its own to bound"};
  }

  // Fills `report` (its vector is reused). Called a few times a second by one thread; may wait for short locks, never
  // for the device.
  virtual void report(DeviceReport& report) const { report = {}; }

  // Before the first channel; the listener outlives the device. A device that cannot be lost ignores it.
  virtual void listen(DeviceListener& listener) { (void)listener; }
};

}  // namespace framelane
