// A frame as Halide wants it, without an allocation.
#pragma once

#include <Halide.h>

#include <array>

#include "core/frame.h"

namespace framelane::halide {

// A halide_buffer_t with its dimensions beside it; valid where it lies, hence not copied.
// Thread-safety: a value.
class FrameBuffer {
 public:
  // `flat`: interleaved samples as one row of width * samples columns.
  FrameBuffer(const FrameView& view, bool flat) noexcept;
  FrameBuffer(const FrameBuffer&) = delete;
  FrameBuffer& operator=(const FrameBuffer&) = delete;

  // For a frame in device memory: there is no host side, and nothing is out of date.
  FrameBuffer(const FrameFormat& format, bool flat, const halide_device_interface_t* device, uint64_t address) noexcept;

  [[nodiscard]] const halide_buffer_t* get() const noexcept { return &buffer_; }

 private:
  halide_buffer_t buffer_{};
  std::array<halide_dimension_t, 3> dimensions_;
};

}  // namespace framelane::halide
