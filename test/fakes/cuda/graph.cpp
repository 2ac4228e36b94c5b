#include <utility>

#include "fakes/cuda/capture.h"
#include "fakes/cuda/functions.h"
#include "fakes/cuda/memory.h"
#include "fakes/cuda/stream.h"

namespace framelane::fake_cuda {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph handle, unsigned long long) {
  Call call(Function::cuGraphInstantiate);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Graph> graph = state().graphs.find(handle);
  if (out == nullptr || !graph) return CUDA_ERROR_INVALID_VALUE;
  auto exec = std::make_shared<GraphExec>();
  exec->graph = *graph;
  for (size_t lane = 1; lane < graph->lanes; ++lane) exec->lane_ids.push_back(state().next_stream_id++);
  *out = state().execs.add(std::move(exec));
  return call.end(CUDA_SUCCESS);
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  Call call(Function::cuGraphGetNodes);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Graph> graph = state().graphs.find(handle);
  if (count == nullptr || !graph) return CUDA_ERROR_INVALID_VALUE;
  const size_t there = graph->nodes.size();
  if (nodes != nullptr) {
    for (size_t at = 0; at < *count; ++at)
      nodes[at] = at < there ? reinterpret_cast<CUgraphNode>(&graph->nodes[at]) : nullptr;
    *count = std::min(*count, there);
  } else {
    *count = there;
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
  Call call(Function::cuGraphUpload);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, stream_handle, result);
  if (!stream) return result;
  if (!state().execs.find(handle)) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) return refuse_in_capture(*stream, "cuGraphUpload to a stream that is being captured");
  return call.end(CUDA_SUCCESS);
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  Call call(Function::cuGraphLaunch);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> stream = find_stream(call, stream_handle, result);
  if (!stream) return result;
  const std::shared_ptr<GraphExec> exec = state().execs.find(handle);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  if (exec->graph.context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  // A graph becomes a node of another: nobody here needs it.
  if (stream->capture) return refuse_in_capture(*stream, "cuGraphLaunch to a stream that is being captured");
  if (stream->is_null && !null_stream_allowed(stream->context)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  std::vector<std::shared_ptr<Op>> waits;
  if (exec->last) waits.push_back(exec->last);  // it never runs twice at a time
  exec->last = enqueue(stream, exec->graph.nodes, waits, exec.get());
  return call.end(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph handle) {
  Call call(Function::cuGraphDestroy);
  return call.end(state().graphs.take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  Call call(Function::cuGraphExecDestroy);
  return call.end(state().execs.take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

}  // namespace framelane::fake_cuda
