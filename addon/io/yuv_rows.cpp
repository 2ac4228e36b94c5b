#include "io/yuv_rows.h"

#include <algorithm>

namespace framelane::io {
namespace {

constexpr float kChromaZero = 128.0F;

// Half up, saturated. Written with selects, so that it becomes vector code.
uint8_t to_code(float value) noexcept {
  const float clipped = std::min(std::max(value, 0.0F), 255.0F);
  return static_cast<uint8_t>(static_cast<int32_t>(clipped + 0.5F));
}

}  // namespace

YuvConverter::YuvConverter(YuvStandard standard, YuvRange range) noexcept
    : y_offset_(range == YuvRange::limited ? 16.0F : 0.0F),
      y_gain_(range == YuvRange::limited ? 255.0F / 219.0F : 1.0F),
      kr_(standard == YuvStandard::bt601 ? 0.299F : 0.2126F),
      kb_(standard == YuvStandard::bt601 ? 0.114F : 0.0722F) {
  kg_ = 1.0F - kr_ - kb_;
  const float chroma_gain = range == YuvRange::limited ? 255.0F / 224.0F : 1.0F;
  red_cr_ = 2.0F * (1.0F - kr_) * chroma_gain;
  blue_cb_ = 2.0F * (1.0F - kb_) * chroma_gain;
  green_cr_ = -red_cr_ * kr_ / kg_;
  green_cb_ = -blue_cb_ * kb_ / kg_;
  y_scale_ = 1.0F / y_gain_;
  cb_scale_ = 1.0F / blue_cb_;
  cr_scale_ = 1.0F / red_cr_;
  for (size_t code = 0; code < grey_.size(); ++code) {
    grey_[code] = to_code((static_cast<float>(code) - y_offset_) * y_gain_);
  }
}

void YuvConverter::to_rgb(const uint8_t* __restrict y, const uint8_t* __restrict cb, const uint8_t* __restrict cr,
                          uint8_t* __restrict rgb, size_t pixels) const noexcept {
  const YuvConverter k = *this;  // a copy that the stores below cannot change
  for (size_t x = 0; x < pixels; ++x) {
    const float luma = (static_cast<float>(y[x]) - k.y_offset_) * k.y_gain_;
    const float u = static_cast<float>(cb[x]) - kChromaZero;
    const float v = static_cast<float>(cr[x]) - kChromaZero;
    rgb[3 * x] = to_code(luma + k.red_cr_ * v);
    rgb[3 * x + 1] = to_code(luma + k.green_cb_ * u + k.green_cr_ * v);
    rgb[3 * x + 2] = to_code(luma + k.blue_cb_ * u);
  }
}

void YuvConverter::from_rgb(const uint8_t* __restrict rgb, uint8_t* __restrict y, uint8_t* __restrict cb,
                            uint8_t* __restrict cr, size_t pixels) const noexcept {
  const YuvConverter k = *this;
  for (size_t x = 0; x < pixels; ++x) {
    const float red = rgb[3 * x];
    const float green = rgb[3 * x + 1];
    const float blue = rgb[3 * x + 2];
    const float luma = k.kr_ * red + k.kg_ * green + k.kb_ * blue;
    y[x] = to_code(luma * k.y_scale_ + k.y_offset_);
    cb[x] = to_code((blue - luma) * k.cb_scale_ + kChromaZero);
    cr[x] = to_code((red - luma) * k.cr_scale_ + kChromaZero);
  }
}

void YuvConverter::luma_to_grey(uint8_t* y, size_t samples) const noexcept {
  for (size_t x = 0; x < samples; ++x) y[x] = grey_[y[x]];
}

void double_row(const uint8_t* __restrict half, uint8_t* __restrict full, size_t pixels) noexcept {
  for (size_t x = 0; x < pixels / 2; ++x) {
    full[2 * x] = half[x];
    full[2 * x + 1] = half[x];
  }
  if (pixels % 2 != 0) full[pixels - 1] = half[pixels / 2];
}

}  // namespace framelane::io
