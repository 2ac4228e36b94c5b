#include "io/sources/pattern_picture.h"

#include <array>
#include <cmath>
#include <cstring>

namespace framelane::io {
namespace {

constexpr uint32_t kCheckerSide = 16;  // pixels

// The eight colours of a bar chart, light to dark.
constexpr std::array<std::array<float, 3>, 8> kBars{
    {{1, 1, 1}, {1, 1, 0}, {0, 1, 1}, {0, 1, 0}, {1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 0, 0}}};

// Evenly spread in 0..1, the same on every machine (a finaliser of splitmix64).
float noise_at(uint32_t x, uint32_t y, uint32_t sample) noexcept {
  uint64_t v = (uint64_t{y} << 32 | x) * 3 + sample + 0x9e37'79b9'7f4a'7c15;
  v = (v ^ v >> 30) * 0xbf58'476d'1ce4'e5b9;
  v = (v ^ v >> 27) * 0x94d0'49bb'1331'11eb;
  return static_cast<float>(v >> 40) / 16'777'215.0F;
}

// In 0..1. `x` has been shifted already.
float value_at(Picture picture, const FrameFormat& format, uint32_t x, uint32_t y, uint32_t sample) noexcept {
  switch (picture) {
    case Picture::checker: return (x / kCheckerSide + y / kCheckerSide) % 2 == 0 ? 0.75F : 0.25F;
    case Picture::noise: return noise_at(x, y, sample);
    case Picture::bars: return 0.75F * kBars[size_t{x} * kBars.size() / format.width][sample];
    case Picture::gradient: break;
  }
  // Up and down again over the width, so that it has no edge when it is shifted; green runs down, blue diagonally.
  const float across =
      1.0F - std::fabs(2.0F * (static_cast<float>(x) + 0.5F) / static_cast<float>(format.width) - 1.0F);
  const float down = (static_cast<float>(y) + 0.5F) / static_cast<float>(format.height);
  return sample == 0 ? across : sample == 1 ? down : 0.5F * (across + down);
}

void store(std::byte* at, SampleType type, float value) noexcept {
  if (type == SampleType::uint8) {
    *at = static_cast<std::byte>(std::lround(value * 255.0F));
  } else if (type == SampleType::uint16) {
    const auto sample = static_cast<uint16_t>(std::lround(value * 65535.0F));
    std::memcpy(at, &sample, sizeof sample);
  } else {
    std::memcpy(at, &value, sizeof value);
  }
}

}  // namespace

void draw_picture(Picture picture, const FrameFormat& format, double shift, std::byte* frame) noexcept {
  const PixelFormatInfo& f = info(format.pixel);
  const bool planar = format.plane_stride_bytes != 0;
  const size_t step = bytes_per_sample(f.type);
  const auto offset = static_cast<uint32_t>(shift * format.width);
  for (uint32_t y = 0; y < format.height; ++y) {
    for (uint32_t x = 0; x < format.width; ++x) {
      const auto from = static_cast<uint32_t>((uint64_t{x} + offset) % format.width);
      for (uint32_t sample = 0; sample < f.samples; ++sample) {
        const size_t within =
            planar ? sample * format.plane_stride_bytes + x * step : (size_t{x} * f.samples + sample) * step;
        store(frame + y * format.row_stride_bytes + within, f.type, value_at(picture, format, from, y, sample));
      }
    }
  }
}

}  // namespace framelane::io
