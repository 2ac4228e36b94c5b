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

  [[nodiscard]] const halide_buffer_t* get() const noexcept { return &buffer_; }

 private:
  halide_buffer_t buffer_{};
  std::array<halide_dimension_t, 3> dimensions_;
};

}  // namespace framelane::halide
