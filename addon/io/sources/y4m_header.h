// The header of a YUV4MPEG2 file. What stands in it is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "io/yuv_rows.h"

namespace framelane::io {

enum class Y4mChroma : uint8_t { mono, mono16, c420, c422, c444 };

// Thread-safety: a value.
struct Y4mHeader {
  uint32_t width = 0;
  uint32_t height = 0;
  double fps = 0;  // 0: the file does not say
  Y4mChroma chroma = Y4mChroma::c420;
  YuvRange range = YuvRange::limited;

  [[nodiscard]] bool colour() const noexcept { return chroma >= Y4mChroma::c420; }
  [[nodiscard]] uint32_t chroma_width() const noexcept { return chroma == Y4mChroma::c444 ? width : (width + 1) / 2; }
  [[nodiscard]] uint32_t chroma_height() const noexcept {
    return chroma == Y4mChroma::c420 ? (height + 1) / 2 : height;
  }
  [[nodiscard]] size_t luma_bytes() const noexcept {
    return size_t{width} * height * (chroma == Y4mChroma::mono16 ? 2 : 1);
  }
  [[nodiscard]] size_t frame_bytes() const noexcept {  // without the FRAME line
    return luma_bytes() + (colour() ? size_t{2} * chroma_width() * chroma_height() : 0);
  }
};

// Longest line that is looked at, its end included; a longer one is malformed.
inline constexpr size_t kMostHeaderBytes = 4096;
inline constexpr size_t kMostFrameLineBytes = 256;

// `line` without its newline. source_malformed: what it says cannot be; unsupported: it can, but not here.
// The messages do not name the file.
[[nodiscard]] Result<Y4mHeader> parse_y4m_header(std::string_view line);

// Whether a line (without its newline) begins a frame: FRAME, alone or with parameters.
[[nodiscard]] bool is_y4m_frame_line(std::string_view line) noexcept;

}  // namespace framelane::io
