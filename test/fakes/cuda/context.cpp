#include "fakes/cuda/detectors.h"
#include "fakes/cuda/functions.h"
#include "fakes/cuda/memory.h"
#include "fakes/cuda/stream.h"

namespace framelane::fake_cuda {
namespace {

CUcontext make_context(CUdevice device, bool primary, unsigned flags) {
  auto context = std::make_shared<Context>();
  context->device = device;
  context->primary = primary;
  context->flags = flags;
  return state().contexts.add(std::move(context));
}

template <typename Objects>
void take_those_of(Objects& objects, CUcontext context) {
  std::vector<uintptr_t> mine;
  for (const auto& [key, object] : objects.all())
    if (object->context == context) mine.push_back(key);
  for (const uintptr_t key : mine) objects.take(reinterpret_cast<decltype(objects.add({}))>(key));
}

void end_context(Call& call, CUcontext handle) {
  const std::shared_ptr<Context> context = state().contexts.find(handle);
  if (!context) return;
  wait_for_device(call, context->device);
  detect_context_leaks(*context, handle);
  for (const auto& [key, stream] : std::map(state().streams.all()))
    if (stream->context == handle) close_stream(state().streams.take(stream->handle));
  if (context->null_stream) close_stream(context->null_stream);
  take_those_of(state().events, handle);
  take_those_of(state().modules, handle);
  drop_memory(handle);
  state().contexts.take(handle);
}

}  // namespace

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  Call call(Function::cuDevicePrimaryCtxSetFlags);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  state().devices[static_cast<size_t>(device)].primary_flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  Call call(Function::cuDevicePrimaryCtxRetain);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  Device& owner = state().devices[static_cast<size_t>(device)];
  if (owner.lost) return owner.lost_result;
  if (owner.primary_references++ == 0) owner.primary = make_context(device, true, owner.primary_flags);
  *out = owner.primary;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Call call(Function::cuDevicePrimaryCtxRelease);
  if (!is_device(device)) return call.end(CUDA_ERROR_INVALID_DEVICE);
  Device& owner = state().devices[static_cast<size_t>(device)];
  if (owner.primary_references == 0) return call.end(CUDA_ERROR_INVALID_CONTEXT);
  if (--owner.primary_references == 0) end_context(call, std::exchange(owner.primary, nullptr));
  return call.end(CUDA_SUCCESS);
}

CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  Call call(Function::cuCtxCreate);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *out = make_context(device, false, flags);
  this_thread().contexts.push_back(*out);
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  Call call(Function::cuCtxDestroy);
  const std::shared_ptr<Context> found = state().contexts.find(context);
  if (!found || found->primary) return call.end(CUDA_ERROR_INVALID_CONTEXT);
  end_context(call, context);
  std::vector<CUcontext>& mine = this_thread().contexts;
  if (!mine.empty() && mine.back() == context) mine.pop_back();
  return call.end(CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext context) {
  Call call(Function::cuCtxSetCurrent);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (context != nullptr && !state().contexts.find(context)) return CUDA_ERROR_INVALID_CONTEXT;
  std::vector<CUcontext>& mine = this_thread().contexts;
  if (!mine.empty()) mine.pop_back();
  if (context != nullptr) mine.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  Call call(Function::cuCtxGetCurrent);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = call.context_handle();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* out) {
  Call call(Function::cuCtxGetDevice);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned* out) {
  Call call(Function::cuCtxGetApiVersion);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (context == nullptr ? !call.context() : !state().contexts.find(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *out = 3020;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  Call call(Function::cuCtxPushCurrent);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (!state().contexts.find(context)) return CUDA_ERROR_INVALID_CONTEXT;
  this_thread().contexts.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  Call call(Function::cuCtxPopCurrent);
  std::vector<CUcontext>& mine = this_thread().contexts;
  if (mine.empty()) return call.end(CUDA_ERROR_INVALID_CONTEXT);
  if (out != nullptr) *out = mine.back();
  mine.pop_back();
  return call.end(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize() {
  Call call(Function::cuCtxSynchronize);
  if (!call.allowed_in_capture() || call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  wait_for_device(call, context->device);
  return call.end(CUDA_SUCCESS);
}

}  // namespace framelane::fake_cuda
