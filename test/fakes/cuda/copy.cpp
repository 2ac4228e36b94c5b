#include <cstring>

#include "fakes/cuda/detectors.h"
#include "fakes/cuda/functions.h"
#include "fakes/cuda/memory.h"
#include "fakes/cuda/stream.h"
#include "fakes/cuda/touch.h"

namespace framelane::fake_cuda {
namespace {

// cuMemcpy3D's argument in the driver's ABI.
struct Copy3D {
  size_t src_x_bytes, src_y, src_z, src_lod;
  CUmemorytype src_type;
  const void* src_host;
  CUdeviceptr src_device;
  void* src_array;
  void* reserved0;
  size_t src_pitch, src_height;
  size_t dst_x_bytes, dst_y, dst_z, dst_lod;
  CUmemorytype dst_type;
  void* dst_host;
  CUdeviceptr dst_device;
  void* dst_array;
  void* reserved1;
  size_t dst_pitch, dst_height;
  size_t width_bytes, height, depth;
};

size_t span_of(const Plane& plane, const Work& work) {
  return (work.depth - 1) * plane.slice + (work.height - 1) * plane.pitch + work.width;
}

// Finds the memory of one side. The real driver refuses device memory that is not there, and host memory that is
// pinned in part.
CUresult resolve(Plane& plane, Work& work, bool write) {
  const size_t bytes = span_of(plane, work);
  if (plane.device == 0) {
    if (plane.host == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const HostMemory kind = host_memory(plane.host, bytes);
    if (kind == HostMemory::refused) return CUDA_ERROR_INVALID_VALUE;
    if (kind == HostMemory::pageable) work.pinned = false;
    return CUDA_SUCCESS;
  }
  plane.allocation = allocation_at(plane.device);
  work.touches.push_back({plane.device, plane.device + bytes, write});
  if (plane.allocation && plane.device + bytes <= plane.allocation->begin + plane.allocation->bytes)
    return CUDA_SUCCESS;
  if (!plane.allocation)
    detect(Detector::use_after_free,
           work.what + (write ? " to" : " from") + " memory that is freed or was never allocated");
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult prepare(Work& work) {
  if (const CUresult result = resolve(work.from, work, false); result != CUDA_SUCCESS) return result;
  return resolve(work.to, work, true);
}

Work linear_copy(Plane to, Plane from, size_t bytes, const char* what) {
  Work work;
  work.kind = Work::Kind::copy;
  work.what = what;
  work.to = std::move(to);
  work.from = std::move(from);
  work.width = bytes;
  return work;
}

Plane device_plane(CUdeviceptr address) {
  Plane plane;
  plane.device = address;
  return plane;
}

Plane host_plane(const void* address) {
  Plane plane;
  plane.host = static_cast<std::byte*>(const_cast<void*>(address));
  return plane;
}

bool is_capturing(CUstream handle) {
  const std::shared_ptr<Stream> stream = handle == nullptr ? nullptr : state().streams.find(handle);
  return stream && stream->capture;
}

void wait_for_stream(Call& call, CUstream handle) {
  CUresult result = CUDA_SUCCESS;
  if (const std::shared_ptr<Stream> stream = find_stream(call, handle, result))
    wait_for(call, std::shared_ptr<Op>(stream->last));
}

// The bytes of an upload from pageable memory are taken before the call returns.
void stage(Call& call, Work& work) {
  const size_t bytes = span_of(work.from, work);
  work.staged.resize(bytes);
  call.outside([&] { std::memcpy(work.staged.data(), work.from.host, bytes); });
}

CUresult copy_async(Call& call, CUstream handle, Work work) {
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  if (work.width == 0 || work.height == 0 || work.depth == 0) return CUDA_SUCCESS;
  if (const CUresult result = prepare(work); result != CUDA_SUCCESS) return result;
  const bool pinned = work.pinned, from_host = work.from.device == 0;
  if (!pinned && state().options.steady)
    detect(Detector::unpinned_copy, work.what + " of " + std::to_string(work.width * work.height * work.depth) +
                                        " bytes with host memory that is not pinned");
  const bool at_once = !pinned && !is_capturing(handle);
  if (at_once && from_host) stage(call, work);
  if (const CUresult result = submit(call, handle, std::move(work)); result != CUDA_SUCCESS) return result;
  if (at_once && !from_host) wait_for_stream(call, handle);
  return call.end(CUDA_SUCCESS);
}

CUresult copy_now(Call& call, Work work) {
  if (!call.allowed_in_capture() || call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  if (work.width == 0 || work.height == 0 || work.depth == 0) return CUDA_SUCCESS;
  if (const CUresult result = prepare(work); result != CUDA_SUCCESS) return result;
  if (const CUresult result = submit(call, nullptr, std::move(work)); result != CUDA_SUCCESS) return result;
  wait_for_stream(call, nullptr);
  return call.end(CUDA_SUCCESS);
}

Plane plane_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch, size_t slice, size_t offset) {
  Plane plane = type == CU_MEMORYTYPE_DEVICE ? device_plane(device + offset)
                                             : host_plane(static_cast<const std::byte*>(host) + offset);
  plane.pitch = pitch;
  plane.slice = slice;
  return plane;
}

const char* name_copy(const Plane& to, const Plane& from) {
  return from.device == 0 ? "an upload" : to.device == 0 ? "a download" : "a copy on the device";
}

}  // namespace

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  Call call(Function::cuMemcpyHtoD);
  return copy_now(call, linear_copy(device_plane(to), host_plane(from), bytes, "an upload"));
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  Call call(Function::cuMemcpyDtoH);
  return copy_now(call, linear_copy(host_plane(to), device_plane(from), bytes, "a download"));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  Call call(Function::cuMemcpyDtoD);
  return copy_now(call, linear_copy(device_plane(to), device_plane(from), bytes, "a copy on the device"));
}

CUresult cuMemcpy3D_v2(const void* arguments) {
  Call call(Function::cuMemcpy3D);
  if (arguments == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Copy3D& copy = *static_cast<const Copy3D*>(arguments);
  const size_t from_pitch = copy.src_pitch != 0 ? copy.src_pitch : copy.width_bytes;
  const size_t to_pitch = copy.dst_pitch != 0 ? copy.dst_pitch : copy.width_bytes;
  const size_t from_slice = from_pitch * (copy.src_height != 0 ? copy.src_height : copy.height);
  const size_t to_slice = to_pitch * (copy.dst_height != 0 ? copy.dst_height : copy.height);
  Work work;
  work.kind = Work::Kind::copy;
  work.width = copy.width_bytes;
  work.height = copy.height;
  work.depth = copy.depth;
  work.from = plane_of(copy.src_type, copy.src_host, copy.src_device, from_pitch, from_slice,
                       copy.src_z * from_slice + copy.src_y * from_pitch + copy.src_x_bytes);
  work.to = plane_of(copy.dst_type, copy.dst_host, copy.dst_device, to_pitch, to_slice,
                     copy.dst_z * to_slice + copy.dst_y * to_pitch + copy.dst_x_bytes);
  work.what = name_copy(work.to, work.from);
  return copy_now(call, std::move(work));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  Call call(Function::cuMemcpyHtoDAsync);
  return copy_async(call, stream, linear_copy(device_plane(to), host_plane(from), bytes, "an upload"));
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  Call call(Function::cuMemcpyDtoHAsync);
  return copy_async(call, stream, linear_copy(host_plane(to), device_plane(from), bytes, "a download"));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  Call call(Function::cuMemcpyDtoDAsync);
  return copy_async(call, stream, linear_copy(device_plane(to), device_plane(from), bytes, "a copy on the device"));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  Call call(Function::cuMemcpy2DAsync);
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const size_t from_pitch = copy->srcPitch != 0 ? copy->srcPitch : copy->WidthInBytes;
  const size_t to_pitch = copy->dstPitch != 0 ? copy->dstPitch : copy->WidthInBytes;
  if (from_pitch < copy->WidthInBytes || to_pitch < copy->WidthInBytes) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.kind = Work::Kind::copy;
  work.width = copy->WidthInBytes;
  work.height = copy->Height;
  work.from = plane_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice, from_pitch, 0,
                       copy->srcY * from_pitch + copy->srcXInBytes);
  work.to = plane_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice, to_pitch, 0,
                     copy->dstY * to_pitch + copy->dstXInBytes);
  work.what = name_copy(work.to, work.from);
  return copy_async(call, stream, std::move(work));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  Call call(Function::cuMemsetD8Async);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  if (bytes == 0) return CUDA_SUCCESS;
  Work work;
  work.kind = Work::Kind::fill;
  work.what = "a memset";
  work.to = device_plane(to);
  work.width = bytes;
  work.value = value;
  if (const CUresult result = resolve(work.to, work, true); result != CUDA_SUCCESS) return result;
  return submit(call, stream, std::move(work));
}

}  // namespace framelane::fake_cuda
