// Frames in plain memory, and one run of a pipeline over them.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/pipeline.h"

namespace framelane::test {

using Operations = std::vector<OperationSpec>;

// Thread-safety: a value; view() is valid as long as it lives.
struct HeldFrame {
  FrameFormat format;
  std::vector<std::byte> bytes;

  explicit HeldFrame(const FrameFormat& of) : format(of), bytes(of.bytes()) {}
  [[nodiscard]] FrameView view() { return {bytes.data(), format, MemoryKind::host}; }
  template <typename Sample>
  [[nodiscard]] Sample* samples() {
    return reinterpret_cast<Sample*>(bytes.data());
  }
};

inline PipelineRequest request_of(Operations operations, const FrameFormat& input, uint32_t threads = 1) {
  PipelineRequest request;
  request.channel = "test";
  request.spec.operations = std::move(operations);
  request.inputs = {input};
  request.threads = threads;
  return request;
}

inline OperationSpec operation(const std::string& name, std::map<std::string, ArgumentValue> arguments) {
  return {name, std::move(arguments)};
}

// Runs one frame; the result has the geometry that the pipeline states for it.
inline Result<HeldFrame> run_frame(Pipeline& pipeline, HeldFrame& input) {
  HeldFrame output(pipeline.output_for(0, {&input.format, 1}));
  const FrameView in = input.view(), out = output.view();
  const FrameMeta meta;
  if (Status status = pipeline.submit(0, {{&in, 1}, {&out, 1}, &meta}); !status) return status.error();
  const Completion completion = pipeline.wait(0);
  if (!completion.status) return completion.status.error();
  return output;
}

}  // namespace framelane::test
