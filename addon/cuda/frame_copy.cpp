#include "cuda/frame_copy.h"

namespace framelane::cuda {
namespace {

// Rows of one plane, in bytes. Thread-safety: a value.
struct Rows {
  size_t first_bytes = 0;  // from the row's start
  size_t length_bytes = 0;
  uint32_t first = 0;
  uint32_t count = 0;
};

struct Planes {
  uint32_t count = 1;
  Rows rows;
};

Planes planes_of(PixelFormat pixel, const Region& region) noexcept {
  const PixelFormatInfo& about = info(pixel);
  const bool planar = about.samples > 1 && about.arrangement == Arrangement::planar;
  const size_t pixel_bytes = bytes_per_sample(about.type) * (planar ? 1 : about.samples);
  return {planar ? about.samples : 1U, {region.x * pixel_bytes, region.width * pixel_bytes, region.y, region.height}};
}

// Whether these rows follow each other without a gap, on both sides.
bool in_one_piece(const Rows& rows, const FrameFormat& a, const FrameFormat& b) noexcept {
  return rows.count == 1 || (rows.length_bytes == a.row_stride_bytes && rows.length_bytes == b.row_stride_bytes);
}

CUDA_MEMCPY2D rows_copy(const Rows& rows) noexcept {
  CUDA_MEMCPY2D copy{};
  copy.WidthInBytes = rows.length_bytes;
  copy.Height = rows.count;
  copy.srcXInBytes = copy.dstXInBytes = rows.first_bytes;
  copy.srcY = copy.dstY = rows.first;
  return copy;
}

size_t offset_of(const Rows& rows, const FrameFormat& format) noexcept {
  return rows.first_bytes + rows.first * format.row_stride_bytes;
}

}  // namespace

FrameFormat device_format(const FrameFormat& frame) noexcept {
  return FrameFormat::packed(frame.pixel, frame.width, frame.height);
}

uint64_t copied_bytes(PixelFormat pixel, const Region& region) noexcept {
  const auto [count, rows] = planes_of(pixel, region);
  return uint64_t{rows.length_bytes} * rows.count * count;
}

CUresult upload(const Driver& driver, CUstream stream, const DeviceFrame& device, const std::byte* host,
                const FrameFormat& format, const Region& region) noexcept {
  if (region.width == 0 || region.height == 0) return CUDA_SUCCESS;
  const auto [count, rows] = planes_of(format.pixel, region);
  for (uint32_t plane = 0; plane < count; ++plane) {
    const std::byte* const from = host + plane * format.plane_stride_bytes;
    const CUdeviceptr to = device.data + plane * device.format.plane_stride_bytes;
    CUresult result{};
    if (in_one_piece(rows, format, device.format)) {
      result = driver.cuMemcpyHtoDAsync(to + offset_of(rows, device.format), from + offset_of(rows, format),
                                        rows.length_bytes * rows.count, stream);
    } else {
      CUDA_MEMCPY2D copy = rows_copy(rows);
      copy.srcMemoryType = CU_MEMORYTYPE_HOST;
      copy.srcHost = from;
      copy.srcPitch = format.row_stride_bytes;
      copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      copy.dstDevice = to;
      copy.dstPitch = device.format.row_stride_bytes;
      result = driver.cuMemcpy2DAsync(&copy, stream);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult download(const Driver& driver, CUstream stream, std::byte* host, const FrameFormat& format,
                  const DeviceFrame& device) noexcept {
  const auto [count, rows] = planes_of(format.pixel, {0, 0, format.width, format.height});
  for (uint32_t plane = 0; plane < count; ++plane) {
    std::byte* const to = host + plane * format.plane_stride_bytes;
    const CUdeviceptr from = device.data + plane * device.format.plane_stride_bytes;
    CUresult result{};
    if (in_one_piece(rows, format, device.format)) {
      result = driver.cuMemcpyDtoHAsync(to, from, rows.length_bytes * rows.count, stream);
    } else {
      CUDA_MEMCPY2D copy = rows_copy(rows);
      copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
      copy.srcDevice = from;
      copy.srcPitch = device.format.row_stride_bytes;
      copy.dstMemoryType = CU_MEMORYTYPE_HOST;
      copy.dstHost = to;
      copy.dstPitch = format.row_stride_bytes;
      result = driver.cuMemcpy2DAsync(&copy, stream);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace framelane::cuda
