#include "fakes/cuda/capture.h"
#include "fakes/cuda/detectors.h"
#include "fakes/cuda/functions.h"
#include "fakes/cuda/stream.h"

namespace framelane::fake_cuda {
namespace {

CUresult refuse_captured(const Event& event, const char* call_name) {
  detect(Detector::capture, std::string(call_name) + " of an event that was recorded in a capture");
  event.capture->invalid = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

}  // namespace

CUresult cuEventCreate(CUevent* out, unsigned flags) {
  Call call(Function::cuEventCreate);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  if (out == nullptr || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  auto event = std::make_shared<Event>();
  event->context = call.context_handle();
  event->flags = flags;
  *out = state().events.add(std::move(event));
  return call.end(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent handle) {
  Call call(Function::cuEventDestroy);
  if (!call.context()) return call.refused();
  return call.end(state().events.take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
  Call call(Function::cuEventRecord);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, stream_handle, result);
  if (!stream) return result;
  const std::shared_ptr<Event> event = state().events.find(handle);
  if (!event || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    if (stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->tail = stream->tail;
    event->last = nullptr;
    return CUDA_SUCCESS;
  }
  if (stream->is_null && !null_stream_allowed(stream->context)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  event->capture = nullptr;
  event->last = enqueue(stream, {});
  return call.end(CUDA_SUCCESS);
}

CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned flags) {
  Call call(Function::cuStreamWaitEvent);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, stream_handle, result);
  if (!stream) return result;
  const std::shared_ptr<Event> event = state().events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture || (event->capture && !event->capture->ended)) return wait_in_capture(stream, *event);
  if (!event->last) return call.end(CUDA_SUCCESS);
  enqueue(stream, {}, {event->last});
  return call.end(CUDA_SUCCESS);
}

CUresult cuEventQuery(CUevent handle) {
  Call call(Function::cuEventQuery);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  const std::shared_ptr<Event> event = state().events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture) return refuse_captured(*event, "cuEventQuery");
  if (!call.allowed_in_capture()) return call.refused();
  if (event->last && !event->last->done) return call.end(CUDA_ERROR_NOT_READY);
  if (event->last) see(*event->last);
  return call.end(CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent handle) {
  Call call(Function::cuEventSynchronize);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  const std::shared_ptr<Event> event = state().events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture) return refuse_captured(*event, "cuEventSynchronize");
  if (!call.allowed_in_capture()) return call.refused();
  wait_for(call, std::shared_ptr<Op>(event->last));
  return call.end(CUDA_SUCCESS);
}

CUresult cuEventElapsedTime(float* out_ms, CUevent start_handle, CUevent end_handle) {
  Call call(Function::cuEventElapsedTime);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  const std::shared_ptr<Event> start = state().events.find(start_handle), end = state().events.find(end_handle);
  if (!start || !end || !start->last || !end->last) return CUDA_ERROR_INVALID_HANDLE;
  if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) return CUDA_ERROR_INVALID_HANDLE;
  if (out_ms == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!start->last->done || !end->last->done) return call.end(CUDA_ERROR_NOT_READY);
  *out_ms = static_cast<float>(end->last->done_ns - start->last->done_ns) / 1e6F;
  return call.end(CUDA_SUCCESS);
}

}  // namespace framelane::fake_cuda
