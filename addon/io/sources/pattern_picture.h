// The pictures of the `pattern` source.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"

namespace framelane::io {

enum class Picture : uint8_t { gradient, checker, noise, bars };

// Fills a frame of any pixel format. `shift` in 0..1 moves the picture by that part of the frame's width,
// around its edge: slots drawn with growing shifts look like motion when they are shown in turn.
void draw_picture(Picture picture, const FrameFormat& format, double shift, std::byte* frame) noexcept;

}  // namespace framelane::io
