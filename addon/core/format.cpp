#include "core/format.h"

#include <array>

namespace framelane {
namespace {

constexpr std::array<PixelFormatInfo, kPixelFormatCount> kFormats{{
    {"mono8", SampleType::uint8, 1, Arrangement::interleaved},
    {"mono16", SampleType::uint16, 1, Arrangement::interleaved},
    {"mono32f", SampleType::float32, 1, Arrangement::interleaved},
    {"rgb8", SampleType::uint8, 3, Arrangement::interleaved},
    {"rgb16", SampleType::uint16, 3, Arrangement::interleaved},
    {"rgb32f", SampleType::float32, 3, Arrangement::interleaved},
    {"rgb8_planar", SampleType::uint8, 3, Arrangement::planar},
    {"rgb16_planar", SampleType::uint16, 3, Arrangement::planar},
    {"rgb32f_planar", SampleType::float32, 3, Arrangement::planar},
}};

}  // namespace

const PixelFormatInfo& info(PixelFormat format) noexcept {
  return kFormats[static_cast<size_t>(format)];
}

std::optional<PixelFormat> pixel_format_from_name(std::string_view name) noexcept {
  for (size_t i = 0; i < kFormats.size(); ++i) {
    if (kFormats[i].name == name) return static_cast<PixelFormat>(i);
  }
  return std::nullopt;
}

std::optional<PixelFormat> pixel_format_of(SampleType type, uint8_t samples, Arrangement arrangement) noexcept {
  for (size_t i = 0; i < kFormats.size(); ++i) {
    const PixelFormatInfo& f = kFormats[i];
    if (f.type == type && f.samples == samples && (samples == 1 || f.arrangement == arrangement))
      return static_cast<PixelFormat>(i);
  }
  return std::nullopt;
}

FrameFormat FrameFormat::packed(PixelFormat pixel, uint32_t width, uint32_t height) noexcept {
  const PixelFormatInfo& f = info(pixel);
  const bool planar = f.arrangement == Arrangement::planar;
  const size_t row = size_t{width} * bytes_per_sample(f.type) * (planar ? 1 : f.samples);
  return {pixel, width, height, row, planar ? row * height : 0};
}

size_t FrameFormat::bytes() const noexcept {
  if (plane_stride_bytes != 0) return plane_stride_bytes * info(pixel).samples;
  return row_stride_bytes * height;
}

std::string FrameFormat::describe() const {
  return std::string(info(pixel).name) + " " + std::to_string(width) + "x" + std::to_string(height);
}

}  // namespace framelane
