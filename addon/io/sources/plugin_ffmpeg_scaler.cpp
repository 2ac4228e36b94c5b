#include "io/sources/plugin_ffmpeg_scaler.h"

extern "C" {
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
}

#include <array>
#include <cstring>
#include <string>

#include "io/yuv_rows.h"

namespace framelane::io::ffmpeg {
namespace {

constexpr uint32_t kVectorPixels = 16;
constexpr size_t kRowSpareBytes = 256;
constexpr size_t kRowAlignment = 64;

bool is_full_range_format(AVPixelFormat format) noexcept {
  return format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ422P || format == AV_PIX_FMT_YUVJ444P ||
         format == AV_PIX_FMT_YUVJ440P || format == AV_PIX_FMT_YUVJ411P;
}

int coefficients_of(const AVFrame& frame) noexcept {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709: return SWS_CS_ITU709;
    case AVCOL_SPC_SMPTE170M:
    case AVCOL_SPC_BT470BG: return SWS_CS_ITU601;
    case AVCOL_SPC_SMPTE240M: return SWS_CS_SMPTE240M;
    case AVCOL_SPC_FCC: return SWS_CS_FCC;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL: return SWS_CS_BT2020;
    default: break;
  }
  return standard_for_rows(static_cast<uint32_t>(frame.height)) == YuvStandard::bt601 ? SWS_CS_ITU601 : SWS_CS_ITU709;
}

// Where the libraries look for each plane: theirs come green, blue, red.
std::array<size_t, 4> plane_order(bool planar) noexcept {
  return planar ? std::array<size_t, 4>{1, 2, 0, 0} : std::array<size_t, 4>{};
}

}  // namespace

std::optional<AVPixelFormat> av_format_of(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::mono8: return AV_PIX_FMT_GRAY8;
    case PixelFormat::mono16: return AV_PIX_FMT_GRAY16;
    case PixelFormat::mono32f: return AV_PIX_FMT_GRAYF32;
    case PixelFormat::rgb8: return AV_PIX_FMT_RGB24;
    case PixelFormat::rgb16: return AV_PIX_FMT_RGB48;
    case PixelFormat::rgb8_planar: return AV_PIX_FMT_GBRP;
    case PixelFormat::rgb16_planar: return AV_PIX_FMT_GBRP16;
    case PixelFormat::rgb32f_planar: return AV_PIX_FMT_GBRPF32;
    case PixelFormat::rgb32f: break;
  }
  return std::nullopt;
}

bool is_grey(AVPixelFormat format) noexcept {
  const AVPixFmtDescriptor* described = av_pix_fmt_desc_get(format);
  return described != nullptr && described->nb_components <= 2 &&
         (described->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_HWACCEL)) == 0;
}

void AvFreeDeleter::operator()(uint8_t* memory) const noexcept {
  av_free(memory);
}

Status Scaler::prepare(const AVFrame& frame, const FrameFormat& format) {
  const auto from = static_cast<AVPixelFormat>(frame.format);
  const Kind kind{frame.width, frame.height, frame.format, frame.colorspace, frame.color_range, format.pixel};
  if (kind_ == kind) return {};
  kind_.reset();
  const char* name = av_get_pix_fmt_name(from);
  const std::string what = std::string("cannot convert ") + (name == nullptr ? "?" : name) + " to " + format.describe();
  const std::optional<AVPixelFormat> to = av_format_of(format.pixel);
  if (!to || sws_isSupportedInput(from) == 0 || sws_isSupportedOutput(*to) == 0)
    return Error{ErrorCode::unsupported, what};
  context_.reset(sws_getContext(frame.width, frame.height, from, frame.width, frame.height, *to, SWS_BILINEAR, nullptr,
                                nullptr, nullptr));
  if (!context_) return Error{ErrorCode::unsupported, what};
  const int full = frame.color_range == AVCOL_RANGE_JPEG || is_full_range_format(from) ? 1 : 0;
  // Refused for formats without Y'CbCr, which need none.
  (void)sws_setColorspaceDetails(context_.get(), sws_getCoefficients(coefficients_of(frame)), full,
                                 sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
  rows_.reset();
  rows_stride_bytes_ = 0;
  if (format.width % kVectorPixels != 0) {
    const size_t spare = format.row_stride_bytes + kRowSpareBytes;
    rows_stride_bytes_ = (spare + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
    const size_t planes = format.plane_stride_bytes == 0 ? 1 : 3;
    rows_.reset(static_cast<uint8_t*>(av_malloc(rows_stride_bytes_ * format.height * planes + kRowSpareBytes)));
    if (!rows_) return Error{ErrorCode::out_of_memory, what + ": no memory"};
  }
  kind_ = kind;
  return {};
}

Status Scaler::convert(const AVFrame& frame, const FrameFormat& format, std::byte* slot) {
  if (Status prepared = prepare(frame, format); !prepared) return prepared;
  const bool planar = format.plane_stride_bytes != 0;
  const size_t stride = rows_ ? rows_stride_bytes_ : format.row_stride_bytes;
  const size_t plane_stride = rows_ ? rows_stride_bytes_ * format.height : format.plane_stride_bytes;
  uint8_t* const base = rows_ ? rows_.get() : reinterpret_cast<uint8_t*>(slot);
  std::array<uint8_t*, 4> planes{};
  std::array<int, 4> strides{};
  for (size_t i = 0; i < (planar ? 3U : 1U); ++i) {
    planes[i] = base + plane_order(planar)[i] * plane_stride;
    strides[i] = static_cast<int>(stride);
  }
  const int rows =
      sws_scale(context_.get(), frame.data, frame.linesize, 0, frame.height, planes.data(), strides.data());
  if (rows != frame.height) return Error{ErrorCode::source_malformed, "the scaler wrote no whole frame"};
  if (!rows_) return {};
  for (size_t plane = 0; plane < (planar ? 3U : 1U); ++plane) {
    for (uint32_t y = 0; y < format.height; ++y) {
      std::memcpy(slot + plane * format.plane_stride_bytes + y * format.row_stride_bytes,
                  base + plane * plane_stride + y * stride, format.row_stride_bytes);
    }
  }
  return {};
}

}  // namespace framelane::io::ffmpeg
