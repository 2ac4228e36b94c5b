#include "fakes/cuda/capture.h"

#include <algorithm>
#include <utility>

#include "fakes/cuda/detectors.h"
#include "fakes/cuda/stream.h"

namespace framelane::fake_cuda {
namespace {

CUresult violate(Capture& capture, const std::string& what, CUresult result) {
  capture.invalid = true;
  detect(Detector::capture, what);
  return result;
}

void add_unique(std::vector<size_t>& into, const std::vector<size_t>& from) {
  for (const size_t node : from)
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
}

// Whether every node comes before what the origin would do next.
bool all_joined(const Capture& capture) {
  std::vector<bool> joined(capture.graph.nodes.size());
  std::vector<size_t> open = capture.origin->tail;
  while (!open.empty()) {
    const size_t node = open.back();
    open.pop_back();
    if (joined[node]) continue;
    joined[node] = true;
    open.insert(open.end(), capture.graph.nodes[node].after.begin(), capture.graph.nodes[node].after.end());
  }
  return std::find(joined.begin(), joined.end(), false) == joined.end();
}

void finish(const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  for (const std::shared_ptr<Stream>& member : capture->members) {
    member->capture = nullptr;
    member->tail.clear();
    member->lane = 0;
  }
  capture->members.clear();
  std::erase(state().captures, capture);
}

}  // namespace

CUresult add_node(Stream& stream, Work work) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  work.after = stream.tail;
  work.lane = stream.lane;
  capture.graph.nodes.push_back(std::move(work));
  stream.tail = {capture.graph.nodes.size() - 1};
  return CUDA_SUCCESS;
}

CUresult wait_in_capture(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (!stream->capture) {
    if (stream->is_null)
      return violate(*event.capture, "the null stream waits for a captured event", CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    stream->capture = event.capture;
    stream->tail = event.tail;
    stream->lane = event.capture->graph.lanes++;
    event.capture->members.push_back(stream);
    return CUDA_SUCCESS;
  }
  Capture& capture = *stream->capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!event.capture)
    return violate(capture, "a captured stream waits for an event outside", CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  if (event.capture != stream->capture)
    return violate(capture, "a captured stream waits for another capture", CUDA_ERROR_STREAM_CAPTURE_MERGE);
  add_unique(stream->tail, event.tail);
  return CUDA_SUCCESS;
}

bool null_stream_allowed(CUcontext context) {
  bool allowed = true;
  for (const std::shared_ptr<Capture>& capture : state().captures) {
    for (const std::shared_ptr<Stream>& member : capture->members) {
      if (member->context != context || !member->blocking) continue;
      capture->invalid = true;
      allowed = false;
    }
  }
  if (!allowed) detect(Detector::capture, "work on the null stream while a blocking stream is being captured");
  return allowed;
}

CUresult refuse_in_capture(Stream& stream, const std::string& what) {
  return violate(*stream.capture, what, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void leave_capture(Stream& stream) {
  if (const std::shared_ptr<Capture> capture = stream.capture) {
    violate(*capture, "a stream is destroyed while it is being captured", CUDA_SUCCESS);
    finish(capture);
  }
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  Call call(Function::cuStreamBeginCapture);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, handle, result);
  if (!stream) return result;
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_null) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture) return kIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->graph.context = stream->context;
  capture->members.push_back(stream);
  stream->capture = capture;
  stream->tail.clear();
  stream->lane = 0;
  state().captures.push_back(std::move(capture));
  return call.end(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
  Call call(Function::cuStreamEndCapture);
  if (out != nullptr) *out = nullptr;
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, handle, result);
  if (!stream) return call.end(result);
  if (out == nullptr) return call.end(CUDA_ERROR_INVALID_VALUE);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return call.end(kIllegalState);
  if (capture->origin != stream.get())
    return violate(*capture, "a capture is ended on another stream", CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
    return violate(*capture, "a capture is ended by another thread", CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool joined = all_joined(*capture);
  finish(capture);
  // A call that was made to fail has ended the capture all the same, as the real one has.
  if (call.end(CUDA_SUCCESS) != CUDA_SUCCESS) return call.end(CUDA_SUCCESS);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined)
    return violate(*capture, "a capture ends with streams that were not joined", CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  *out = state().graphs.add(std::make_shared<Graph>(std::move(capture->graph)));
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* out) {
  Call call(Function::cuStreamIsCapturing);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, handle, result);
  if (!stream) return result;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_null && !null_stream_allowed(stream->context)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *out = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
         : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  Call call(Function::cuThreadExchangeStreamCaptureMode);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, this_thread().capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace framelane::fake_cuda
