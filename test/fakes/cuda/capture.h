// Stream capture: what a captured stream does with what is put on it, and what it refuses. Under a Ledger.
#pragma once

#include "fakes/cuda/functions.h"
#include "fakes/cuda/state.h"

namespace framelane::fake_cuda {

[[nodiscard]] CUresult add_node(Stream& stream, Work work);
// A wait that ties a stream into a capture, or one inside it.
[[nodiscard]] CUresult wait_in_capture(const std::shared_ptr<Stream>& stream, const Event& event);
// False, with the captures invalidated: a blocking stream of this context is being captured.
[[nodiscard]] bool null_stream_allowed(CUcontext context);
[[nodiscard]] CUresult refuse_in_capture(Stream& stream, const std::string& what);
void leave_capture(Stream& stream);

}  // namespace framelane::fake_cuda
