// The machine-readable stamp in the first rows of a `pattern` frame: which frame it is.
//
// 8 by 4 square cells at the left of the first rows, row by row, the most significant bit first: together
// the low 32 bits of the frame id. A cell of a 1 has every sample at its nominal maximum (255, 65535,
// 1.0), a cell of a 0 has 0. A cell's side is 4 pixels; 1 pixel where the frame is smaller than 32x16.
// A frame smaller than 8x4 carries no stamp. docs/sources.md says the same to users.
#pragma once

#include <cstdint>
#include <optional>

#include "core/format.h"

namespace framelane::io {

inline constexpr uint32_t kStampColumns = 8;
inline constexpr uint32_t kStampRows = 4;

// Pixels; 0: the frame is too small for a stamp.
[[nodiscard]] uint32_t stamp_cell_side(uint32_t width, uint32_t height) noexcept;

void write_stamp(std::byte* frame, const FrameFormat& format, uint32_t value) noexcept;

// Looks at the middle of each cell, in the first sample, and compares with half the nominal maximum: also
// readable after operations that keep dark dark, at the frame's size. Empty: too small for a stamp.
[[nodiscard]] std::optional<uint32_t> read_stamp(const std::byte* frame, const FrameFormat& format) noexcept;

}  // namespace framelane::io
