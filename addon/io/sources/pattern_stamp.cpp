#include "io/sources/pattern_stamp.h"

#include <algorithm>
#include <cstring>

namespace framelane::io {
namespace {

constexpr uint32_t kCellSide = 4;

// The size of one step to the right, in bytes; a planar format has one sample a step.
size_t pixel_bytes(const FrameFormat& format) noexcept {
  const PixelFormatInfo& f = info(format.pixel);
  return bytes_per_sample(f.type) * (f.arrangement == Arrangement::planar ? 1 : f.samples);
}

void fill_row(std::byte* at, size_t bytes, SampleType type, bool one) noexcept {
  if (type != SampleType::float32 || !one) {
    std::memset(at, one ? 0xff : 0, bytes);
    return;
  }
  const float value = 1.0F;
  for (size_t i = 0; i + sizeof value <= bytes; i += sizeof value) std::memcpy(at + i, &value, sizeof value);
}

bool is_one(const std::byte* at, SampleType type) noexcept {
  if (type == SampleType::uint8) return std::to_integer<uint8_t>(*at) >= 128;
  if (type == SampleType::uint16) {
    uint16_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value >= 32768;
  }
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return value >= 0.5F;
}

}  // namespace

uint32_t stamp_cell_side(uint32_t width, uint32_t height) noexcept {
  if (width >= kStampColumns * kCellSide && height >= kStampRows * kCellSide) return kCellSide;
  return width >= kStampColumns && height >= kStampRows ? 1 : 0;
}

void write_stamp(std::byte* frame, const FrameFormat& format, uint32_t value) noexcept {
  const uint32_t side = stamp_cell_side(format.width, format.height);
  const PixelFormatInfo& f = info(format.pixel);
  const size_t cell_bytes = side * pixel_bytes(format);
  const uint32_t planes = format.plane_stride_bytes == 0 ? 1 : f.samples;
  for (uint32_t plane = 0; plane < planes; ++plane) {
    for (uint32_t y = 0; y < side * kStampRows; ++y) {
      std::byte* row = frame + plane * format.plane_stride_bytes + y * format.row_stride_bytes;
      for (uint32_t column = 0; column < kStampColumns; ++column) {
        const uint32_t bit = 31 - (y / side * kStampColumns + column);
        fill_row(row + column * cell_bytes, cell_bytes, f.type, (value >> bit & 1) != 0);
      }
    }
  }
}

std::optional<uint32_t> read_stamp(const std::byte* frame, const FrameFormat& format) noexcept {
  const uint32_t side = stamp_cell_side(format.width, format.height);
  if (side == 0) return std::nullopt;
  uint32_t value = 0;
  for (uint32_t cell = 0; cell < kStampColumns * kStampRows; ++cell) {
    const size_t x = cell % kStampColumns * side + side / 2;
    const size_t y = cell / kStampColumns * side + side / 2;
    const std::byte* at = frame + y * format.row_stride_bytes + x * pixel_bytes(format);
    value = value << 1 | (is_one(at, info(format.pixel).type) ? 1 : 0);
  }
  return value;
}

}  // namespace framelane::io
