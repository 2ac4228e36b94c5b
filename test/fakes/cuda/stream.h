// Streams: queues whose thread runs their works in order. Under a Ledger.
#pragma once

#include "fakes/cuda/functions.h"
#include "fakes/cuda/state.h"

namespace framelane::fake_cuda {

// A stream of this handle, the context's null stream for nullptr. nullptr: `result` says why.
[[nodiscard]] std::shared_ptr<Stream> find_stream(Call& call, CUstream handle, CUresult& result);
// Starts the thread.
[[nodiscard]] std::shared_ptr<Stream> open_stream(CUcontext context, int device, bool is_null, bool blocking);
// The thread ends when the queue is empty; at once when it is abandoned.
void close_stream(const std::shared_ptr<Stream>& stream, bool abandoned = false);

// Puts works (one, or a graph's) in the queue, behind these ops of other streams. Reports what its touches do wrong.
std::shared_ptr<Op> enqueue(const std::shared_ptr<Stream>& stream, std::vector<Work> works,
                            const std::vector<std::shared_ptr<Op>>& waits = {}, GraphExec* graph = nullptr);
// The same for one work, or its node while the stream is captured.
[[nodiscard]] CUresult submit(Call& call, CUstream handle, Work work);

// Blocks until it is done; the host has then seen all that happened before.
void wait_for(Ledger& ledger, const std::shared_ptr<Op>& op);
void wait_for_device(Ledger& ledger, int device);
// The host has seen that it is done.
void see(const Op& op);

// The stream's thread.
void run_stream(std::shared_ptr<Stream> stream);
void release_hung_kernels();
void wake_streams();

}  // namespace framelane::fake_cuda
