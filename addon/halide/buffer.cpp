#include "halide/buffer.h"

namespace framelane::halide {
namespace {

halide_type_t runtime_type(SampleType type) noexcept {
  switch (type) {
    case SampleType::uint8: return halide_type_t(halide_type_uint, 8);
    case SampleType::uint16: return halide_type_t(halide_type_uint, 16);
    case SampleType::float32: break;
  }
  return halide_type_t(halide_type_float, 32);
}

}  // namespace

FrameBuffer::FrameBuffer(const FrameView& view, bool flat) noexcept {
  const PixelFormatInfo& pixel = info(view.format.pixel);
  const auto bytes = static_cast<int32_t>(bytes_per_sample(pixel.type));
  const auto width = static_cast<int32_t>(view.format.width), height = static_cast<int32_t>(view.format.height);
  const int32_t samples = pixel.samples;
  const int32_t row_stride = static_cast<int32_t>(view.format.row_stride_bytes) / bytes;
  const bool interleaved = samples > 1 && pixel.arrangement == Arrangement::interleaved;
  const int32_t plane_stride = interleaved ? 1 : static_cast<int32_t>(view.format.plane_stride_bytes) / bytes;
  dimensions_[0] =
      flat ? halide_dimension_t(0, width * samples, 1) : halide_dimension_t(0, width, interleaved ? samples : 1);
  dimensions_[1] = halide_dimension_t(0, height, row_stride);
  dimensions_[2] = halide_dimension_t(0, samples, plane_stride);
  buffer_.host = reinterpret_cast<uint8_t*>(view.data);
  buffer_.type = runtime_type(pixel.type);
  buffer_.dimensions = flat || samples == 1 ? 2 : 3;
  buffer_.dim = dimensions_.data();
}

FrameBuffer::FrameBuffer(const FrameFormat& format, bool flat, const halide_device_interface_t* device,
                         uint64_t address) noexcept
    : FrameBuffer(FrameView{nullptr, format, MemoryKind::device}, flat) {
  buffer_.device_interface = device;
  buffer_.device = address;
}

}  // namespace framelane::halide
