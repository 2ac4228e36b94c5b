#include "fakes/cuda/stream.h"

#include <algorithm>
#include <thread>

#include "fakes/cuda/capture.h"
#include "fakes/cuda/detectors.h"
#include "fakes/cuda/touch.h"

namespace framelane::fake_cuda {
namespace {

// The null stream and the blocking streams of its context wait for each other.
void add_null_stream_order(const Stream& stream, std::vector<std::shared_ptr<Op>>& waits) {
  const std::shared_ptr<Context> context = state().contexts.find(stream.context);
  if (!context || (!stream.is_null && !stream.blocking)) return;
  if (!stream.is_null) {
    if (context->null_stream && context->null_stream->last) waits.push_back(context->null_stream->last);
    return;
  }
  for (const auto& [key, other] : state().streams.all())
    if (other->context == stream.context && other->blocking && other->last) waits.push_back(other->last);
}

// The works of a graph are ordered by its edges only: each lane but the first has a clock entry of its own.
void check_graph(Stream& stream, const std::vector<Work>& works, const GraphExec& exec) {
  std::vector<Clock> clocks(works.size());
  const Clock start = stream.clock;
  for (size_t at = 0; at < works.size(); ++at) {
    const uint64_t lane = works[at].lane == 0 ? stream.id : exec.lane_ids.at(works[at].lane - 1);
    Clock& clock = clocks[at];
    clock = start;
    for (const size_t before : works[at].after) join(clock, clocks[before]);
    // A tick that no other work of this lane has had.
    uint64_t& tick = stream.clock[lane];
    clock[lane] = ++tick;
    check_touches(works[at], lane, clock);
  }
  for (const Clock& clock : clocks) join(stream.clock, clock);
}

}  // namespace

void join(Clock& into, const Clock& from) {
  for (const auto& [lane, tick] : from) {
    uint64_t& known = into[lane];
    known = std::max(known, tick);
  }
}

std::shared_ptr<Stream> find_stream(Call& call, CUstream handle, CUresult& result) {
  const std::shared_ptr<Context> context = call.context();
  if (!context) {
    result = call.refused();
    return nullptr;
  }
  if (handle != nullptr) {
    std::shared_ptr<Stream> stream = state().streams.find(handle);
    result = stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    return stream;
  }
  if (!context->null_stream) context->null_stream = open_stream(call.context_handle(), context->device, true, true);
  result = CUDA_SUCCESS;
  return context->null_stream;
}

std::shared_ptr<Stream> open_stream(CUcontext context, int device, bool is_null, bool blocking) {
  auto stream = std::make_shared<Stream>();
  stream->id = state().next_stream_id++;
  stream->context = context;
  stream->device = device;
  stream->is_null = is_null;
  stream->blocking = blocking && !is_null;
  state().running.insert(stream.get());
  std::thread(run_stream, stream).detach();
  return stream;
}

void close_stream(const std::shared_ptr<Stream>& stream, bool abandoned) {
  stream->closing = true;
  stream->abandoned = stream->abandoned || abandoned;
  stream->work.notify_all();
}

std::shared_ptr<Op> enqueue(const std::shared_ptr<Stream>& stream, std::vector<Work> works,
                            const std::vector<std::shared_ptr<Op>>& waits, GraphExec* graph) {
  auto op = std::make_shared<Op>();
  op->owner = stream;
  op->waits = waits;
  op->work = std::move(works);
  op->replayed = graph != nullptr;
  if (stream->is_null && state().options.steady)
    detect(Detector::default_stream, "work on the null stream in the steady state");
  add_null_stream_order(*stream, op->waits);
  join(stream->clock, state().host_clock);
  for (const std::shared_ptr<Op>& wait : op->waits) join(stream->clock, wait->clock);
  ++stream->clock[stream->id];
  if (graph != nullptr)
    check_graph(*stream, op->work, *graph);
  else
    for (const Work& work : op->work) check_touches(work, stream->id, stream->clock);
  op->clock = stream->clock;
  stream->last = op;
  stream->queue.push_back(op);
  publish(op.get());
  stream->work.notify_all();
  return op;
}

CUresult submit(Call& call, CUstream handle, Work work) {
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, handle, result);
  if (!stream) return result;
  if (stream->capture) return add_node(*stream, std::move(work));
  if (stream->is_null && !null_stream_allowed(stream->context)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  std::vector<Work> works;
  works.push_back(std::move(work));
  enqueue(stream, std::move(works));
  return call.end(CUDA_SUCCESS);
}

void see(const Op& op) {
  observe(&op);
  join(state().host_clock, op.clock);
}

void wait_for(Ledger& ledger, const std::shared_ptr<Op>& op) {
  if (!op) return;
  const std::shared_ptr<Stream> owner = op->owner;
  while (!op->done) ledger.wait(owner->done);
  see(*op);
}

void wait_for_device(Ledger& ledger, int device) {
  std::vector<std::shared_ptr<Op>> last;
  for (const Stream* stream : state().running)
    if (stream->device == device) last.push_back(stream->last);
  for (const std::shared_ptr<Op>& op : last) wait_for(ledger, op);
}

void wake_streams() {
  for (Stream* stream : state().running) stream->work.notify_all();
}

void release_hung_kernels() {
  // Also one that its stream has not come to yet.
  std::erase_if(state().kernel_faults, [](const KernelFault& fault) { return !fault.poisons; });
  ++state().hang_generation;
  wake_streams();
}

CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int) {
  Call call(Function::cuStreamCreateWithPriority);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  if (out == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Stream> stream =
      open_stream(call.context_handle(), context->device, false, flags == CU_STREAM_DEFAULT);
  stream->handle = state().streams.add(stream);
  *out = stream->handle;
  return call.end(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  Call call(Function::cuStreamDestroy);
  if (!call.context()) return call.refused();
  const std::shared_ptr<Stream> stream = state().streams.take(handle);
  if (!stream) return call.end(CUDA_ERROR_INVALID_HANDLE);
  leave_capture(*stream);
  close_stream(stream);
  return call.end(CUDA_SUCCESS);
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* out) {
  Call call(Function::cuStreamGetId);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, handle, result);
  if (!stream) return result;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->id;
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream handle) {
  Call call(Function::cuStreamQuery);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, handle, result);
  if (!stream) return result;
  if (stream->capture) return refuse_in_capture(*stream, "cuStreamQuery of a stream that is being captured");
  if (!call.allowed_in_capture()) return call.refused();
  if (stream->last && !stream->last->done) return call.end(CUDA_ERROR_NOT_READY);
  if (stream->last) see(*stream->last);
  return call.end(CUDA_SUCCESS);
}

CUresult cuStreamSynchronize(CUstream handle) {
  Call call(Function::cuStreamSynchronize);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, handle, result);
  if (!stream) return result;
  if (stream->capture) return refuse_in_capture(*stream, "cuStreamSynchronize of a stream that is being captured");
  if (!call.allowed_in_capture()) return call.refused();
  wait_for(call, std::shared_ptr<Op>(stream->last));
  return call.end(CUDA_SUCCESS);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  Call call(Function::cuLaunchHostFunc);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.kind = Work::Kind::host;
  work.what = "a host function";
  work.function = function;
  work.data = data;
  return submit(call, handle, std::move(work));
}

}  // namespace framelane::fake_cuda
