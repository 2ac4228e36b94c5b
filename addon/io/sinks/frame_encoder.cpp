#include "io/sinks/frame_encoder.h"

#include <cmath>
#include <new>
#include <string_view>

namespace framelane::io {
namespace {

constexpr std::string_view kFrameLine = "FRAME\n";
constexpr uint32_t kFpsDenominator = 1001;  // holds 30000/1001 and every whole number exactly

std::string rate(double fps) {
  if (std::floor(fps) == fps) return std::to_string(static_cast<uint64_t>(fps)) + ":1";
  return std::to_string(std::llround(fps * kFpsDenominator)) + ":" + std::to_string(kFpsDenominator);
}

}  // namespace

Status FrameEncoder::open(const FrameFormat& format) {
  opened_ = format;
  header_.clear();
  converter_.reset();
  if (format_ == FileFormat::raw) return {};
  const bool colour = format.pixel == PixelFormat::rgb8;
  if (!colour && format.pixel != PixelFormat::mono8)
    return Error{ErrorCode::unsupported, "a y4m file holds mono8 or rgb8, not " + format.describe() +
                                             ": convert in the pipeline, or use format: raw"};
  header_ = "YUV4MPEG2 W" + std::to_string(format.width) + " H" + std::to_string(format.height) + " F" + rate(fps_) +
            " Ip A1:1 " + (colour ? "C444 XCOLORRANGE=LIMITED\n" : "Cmono XCOLORRANGE=FULL\n");
  if (!colour) return {};
  converter_.emplace(standard_for_rows(format.height), YuvRange::limited);
  try {
    planes_.resize(size_t{3} * format.width * format.height);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "no memory to convert a frame of " + format.describe()};
  }
  return {};
}

Status FrameEncoder::write(const FrameView& frame, PendingFile& file) {
  if (format_ == FileFormat::raw) return write_rows(frame, file);
  if (frame.format.width != opened_.width || frame.format.height != opened_.height)
    return Error{ErrorCode::sink_failed, "a y4m file has frames of one size: this one is " + frame.format.describe() +
                                             ", the file's are " + opened_.describe()};
  Status written = file.append(reinterpret_cast<const std::byte*>(kFrameLine.data()), kFrameLine.size());
  if (!written) return written;
  return converter_ ? write_colour(frame, file) : write_rows(frame, file);
}

Status FrameEncoder::write_rows(const FrameView& frame, PendingFile& file) {
  const PixelFormatInfo& f = info(frame.format.pixel);
  const size_t planes = frame.format.plane_stride_bytes == 0 ? 1 : f.samples;
  const size_t samples = planes == 1 ? f.samples : 1;
  const size_t row_bytes = size_t{frame.format.width} * bytes_per_sample(f.type) * samples;
  for (size_t plane = 0; plane < planes; ++plane) {
    const std::byte* rows = frame.data + plane * frame.format.plane_stride_bytes;
    if (frame.format.row_stride_bytes == row_bytes) {
      Status written = file.append(rows, row_bytes * frame.format.height);
      if (!written) return written;
      continue;
    }
    for (uint32_t y = 0; y < frame.format.height; ++y) {
      Status written = file.append(rows + y * frame.format.row_stride_bytes, row_bytes);
      if (!written) return written;
    }
  }
  return {};
}

Status FrameEncoder::write_colour(const FrameView& frame, PendingFile& file) {
  const size_t width = frame.format.width;
  const size_t plane = width * frame.format.height;
  for (size_t y = 0; y < frame.format.height; ++y) {
    const auto* rgb = reinterpret_cast<const uint8_t*>(frame.data) + y * frame.format.row_stride_bytes;
    uint8_t* luma = planes_.data() + y * width;
    converter_->from_rgb(rgb, luma, luma + plane, luma + 2 * plane, width);
  }
  return file.append(reinterpret_cast<const std::byte*>(planes_.data()), 3 * plane);
}

}  // namespace framelane::io
