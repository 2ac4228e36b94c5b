// Pixel formats and frame geometry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framelane {

enum class SampleType : uint8_t { uint8, uint16, float32 };
enum class Arrangement : uint8_t { interleaved, planar };

// The nominal range of a sample is 0..255, 0..65535, 0.0..1.0.
[[nodiscard]] constexpr size_t bytes_per_sample(SampleType type) noexcept {
  return type == SampleType::uint8 ? 1 : type == SampleType::uint16 ? 2 : 4;
}

enum class PixelFormat : uint8_t {
  mono8,
  mono16,
  mono32f,
  rgb8,
  rgb16,
  rgb32f,
  rgb8_planar,
  rgb16_planar,
  rgb32f_planar,
};
inline constexpr size_t kPixelFormatCount = 9;

struct PixelFormatInfo {
  std::string_view name;  // as in YAML: "mono8", "rgb32f", "rgb8_planar"
  SampleType type;
  uint8_t samples;  // per pixel: 1 or 3
  Arrangement arrangement;
};

[[nodiscard]] const PixelFormatInfo& info(PixelFormat format) noexcept;
[[nodiscard]] std::optional<PixelFormat> pixel_format_from_name(std::string_view name) noexcept;
[[nodiscard]] std::optional<PixelFormat> pixel_format_of(SampleType type, uint8_t samples,
                                                         Arrangement arrangement) noexcept;

// Geometry of a frame in memory. Rows are tightly packed unless a source says otherwise;
// planes of a planar format follow each other at plane_stride_bytes.
// Thread-safety: a value.
struct FrameFormat {
  PixelFormat pixel = PixelFormat::mono8;
  uint32_t width = 0;   // pixels
  uint32_t height = 0;  // rows; the most that a frame can have where its height varies
  size_t row_stride_bytes = 0;
  size_t plane_stride_bytes = 0;  // 0 for interleaved and mono

  [[nodiscard]] static FrameFormat packed(PixelFormat pixel, uint32_t width, uint32_t height) noexcept;
  [[nodiscard]] size_t bytes() const noexcept;  // whole frame, all planes
  [[nodiscard]] std::string describe() const;   // "rgb8 1920x1080"
  bool operator==(const FrameFormat&) const = default;
};

}  // namespace framelane
