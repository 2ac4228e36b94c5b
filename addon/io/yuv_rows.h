// Rows of 8-bit Y'CbCr to RGB and back (ITU-R BT.601 and BT.709). Loops that the compiler turns into
// vector code; nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace framelane::io {

enum class YuvStandard : uint8_t { bt601, bt709 };
enum class YuvRange : uint8_t { limited, full };  // luma 16..235, chroma 16..240; or both 0..255

// What is meant where a file does not say: BT.601 below 720 rows, BT.709 from there.
[[nodiscard]] constexpr YuvStandard standard_for_rows(uint32_t rows) noexcept {
  return rows < 720 ? YuvStandard::bt601 : YuvStandard::bt709;
}

// Thread-safety: a value; const after construction.
class YuvConverter {
 public:
  YuvConverter(YuvStandard standard, YuvRange range) noexcept;

  // `y`, `cb`, `cr`: one sample per pixel. `rgb`: interleaved.
  void to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* rgb, size_t pixels) const noexcept;
  void from_rgb(const uint8_t* rgb, uint8_t* y, uint8_t* cb, uint8_t* cr, size_t pixels) const noexcept;
  // Luma to grey, 0..255, in place.
  void luma_to_grey(uint8_t* y, size_t samples) const noexcept;

 private:
  float y_offset_, y_gain_;                       // luma to 0..255
  float red_cr_, green_cb_, green_cr_, blue_cb_;  // chroma to 0..255
  float kr_, kg_, kb_;                            // of the standard
  float y_scale_, cb_scale_, cr_scale_;           // from 0..255 to codes
  std::array<uint8_t, 256> grey_{};
};

// Repeats each sample: `half` holds (pixels + 1) / 2 of them.
void double_row(const uint8_t* half, uint8_t* full, size_t pixels) noexcept;

}  // namespace framelane::io
