// A frame's way over the bus: which bytes of a slot go where.
#pragma once

#include "core/frame.h"
#include "cuda/driver.h"
#include "cuda/kernel_program.h"

namespace framelane::cuda {

// As the frame lies in device memory: the same pixels without gaps between rows.
[[nodiscard]] FrameFormat device_format(const FrameFormat& frame) noexcept;

[[nodiscard]] uint64_t copied_bytes(PixelFormat pixel, const Region& region) noexcept;

// Puts the copy of a region on the stream and returns: one linear copy where it lies in one piece, else one of rows for
// each plane. `host` holds a whole frame of `format`. Outside the region device memory stays as it is.
[[nodiscard]] CUresult upload(const Driver& driver, CUstream stream, const DeviceFrame& device, const std::byte* host,
                              const FrameFormat& format, const Region& region) noexcept;
[[nodiscard]] CUresult download(const Driver& driver, CUstream stream, std::byte* host, const FrameFormat& format,
                                const DeviceFrame& device) noexcept;

}  // namespace framelane::cuda
