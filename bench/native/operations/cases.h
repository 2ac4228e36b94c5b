// What is measured of each built-in operation: one list for the CPU and for GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/pipeline.h"

namespace framelane::bench {

// Thread-safety: a value.
struct OperationCase {
  std::string name;  // "resize to 1280x720, area"
  OperationSpec operation;
  bool colour = false;  // of images of three channels only

  [[nodiscard]] bool takes(PixelFormat pixel) const { return !colour || info(pixel).samples == 3; }
};

// For frames of so many pixels and rows, in the order of the tables. internal: a built-in operation is not among them.
[[nodiscard]] Result<std::vector<OperationCase>> operation_cases(uint32_t width, uint32_t height);

// The formats that are measured where no others are asked for: what is 1, 3, 4 and 12 bytes a pixel.
inline constexpr PixelFormat kMeasuredFormats[] = {PixelFormat::mono8, PixelFormat::rgb8, PixelFormat::mono32f,
                                                   PixelFormat::rgb32f};

[[nodiscard]] PipelineRequest request_of(const OperationCase& measured, const FrameFormat& format);

// What is in the frames: every byte of an integer format, values from 0 to 1 of float32.
[[nodiscard]] std::vector<std::byte> noise_of(const FrameFormat& format);

}  // namespace framelane::bench
