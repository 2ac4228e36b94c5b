#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fakes/cuda/functions.h"
#include "fakes/cuda/options.h"

namespace framelane::fake_cuda {
namespace {

struct ErrorText {
  CUresult result;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_NVLINK_UNCORRECTABLE, "CUDA_ERROR_NVLINK_UNCORRECTABLE",
     "uncorrectable NVLink error detected during the execution"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_CONTAINED, "CUDA_ERROR_CONTAINED", "Invalid access of peer GPU memory over nvlink or a hardware error"},
    {kIllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult error_text(Function function, CUresult error, const char** out, bool name) {
  Call call(function);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const ErrorText& known : kErrors) {
    if (known.result != error) continue;
    *out = name ? known.name : known.text;
    return CUDA_SUCCESS;
  }
  *out = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuGetErrorName(CUresult error, const char** out) {
  return error_text(Function::cuGetErrorName, error, out, true);
}

CUresult cuGetErrorString(CUresult error, const char** out) {
  return error_text(Function::cuGetErrorString, error, out, false);
}

CUresult cuInit(unsigned flags) {
  Call call(Function::cuInit);
  State& all = state();
  if (const char* text = std::getenv("FRAMELANE_FAKE_CUDA"); text != nullptr && !all.configured) {
    all.configured = true;
    apply_options(text);
  }
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (all.options.devices == 0) return CUDA_ERROR_NO_DEVICE;
  all.initialised = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  Call call(Function::cuDriverGetVersion);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = state().options.version;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  Call call(Function::cuDeviceGetCount);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = state().options.devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  Call call(Function::cuDeviceGet);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* out, CUdevice_attribute attribute, CUdevice device) {
  Call call(Function::cuDeviceGetAttribute);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr || attribute <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *out = 132; break;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *out = 3; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *out = 3'201'000; break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *out = 6144; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *out = state().options.sm / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *out = state().options.sm % 10; break;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID: *out = state().options.numa_node; break;
    default: *out = 0; break;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* out, int size, CUdevice device) {
  Call call(Function::cuDeviceGetName);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(out, static_cast<size_t>(size), "Fake GPU %d", device);
  return CUDA_SUCCESS;
}

// The same in every process, as a real GPU's.
CUresult cuDeviceGetUuid_v2(CUuuid* out, CUdevice device) {
  Call call(Function::cuDeviceGetUuid);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  for (size_t at = 0; at < sizeof(out->bytes); ++at)
    out->bytes[at] = static_cast<unsigned char>(0xfa ^ (at * 17) ^ (static_cast<unsigned>(device) << (at % 4)));
  out->bytes[15] = static_cast<unsigned char>(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* out, int size, CUdevice device) {
  Call call(Function::cuDeviceGetPCIBusId);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr || size < 13) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(out, static_cast<size_t>(size), "0000:%02X:00.0", device + 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* out, CUdevice device) {
  Call call(Function::cuDeviceTotalMem);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *out = state().options.memory_bytes;
  return CUDA_SUCCESS;
}

CUresult cuProfilerStop() {
  Call call(Function::cuProfilerStop);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  return CUDA_SUCCESS;
}

}  // namespace framelane::fake_cuda
