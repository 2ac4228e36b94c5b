// What the frame path (cuda_pipeline.h) knows of a compiled pipeline: its geometry, its parameters, and how to put its
// kernels on a stream.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/pipeline.h"
#include "cuda/driver_types.h"

namespace framelane::cuda {

class StreamCache;

// A rectangle of an image, in pixels. Thread-safety: a value.
struct Region {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Region&) const = default;
};

// A frame in device memory. Thread-safety: a value.
struct DeviceFrame {
  CUdeviceptr data = 0;
  FrameFormat format;  // extent and strides as they lie there
};

// Where kernels are put, and where they get their intermediate buffers from. Thread-safety: a value.
struct LaunchPlace {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  StreamCache* memory = nullptr;  // of this stream
};

// Thread-safety: one channel's own. enqueue() and set_parameter() on one thread at a time: the compile thread until the
// pipeline is handed over, then the channel's worker.
class KernelProgram {
 public:
  virtual ~KernelProgram() = default;

  [[nodiscard]] virtual std::span<const FrameFormat> inputs() const noexcept = 0;   // largest extents
  [[nodiscard]] virtual std::span<const FrameFormat> outputs() const noexcept = 0;  // largest extents
  [[nodiscard]] virtual FrameFormat output_for(size_t index, std::span<const FrameFormat> inputs) const noexcept = 0;
  // The part of input `index` that is read: the rest need not be uploaded.
  [[nodiscard]] virtual Region reads(size_t index, std::span<const FrameFormat> inputs) const noexcept = 0;

  // Puts all kernels of one frame on the stream and returns; waits for nothing. May run inside a stream capture.
  [[nodiscard]] virtual Status enqueue(const LaunchPlace& place, std::span<const DeviceFrame> inputs,
                                       std::span<const DeviceFrame> outputs) noexcept = 0;
  // What the kernels of the last enqueue() keep for each other in device memory: bytes, each buffer of theirs once.
  [[nodiscard]] virtual uint64_t stored_bytes() const noexcept { return 0; }
  // Why it cannot be captured into a graph; empty: it can.
  [[nodiscard]] virtual std::string_view not_replayable() const noexcept { return {}; }
  // Frames leave something behind for later ones: one lane, in order.
  [[nodiscard]] virtual bool keeps_state() const noexcept { return false; }
  virtual void reset_state() noexcept {}

  [[nodiscard]] virtual std::vector<ParameterInfo> parameters() const = 0;
  // For the next enqueue(): what was captured keeps the values of its capture.
  virtual Status set_parameter(const std::string& name, double value) noexcept = 0;
};

}  // namespace framelane::cuda
