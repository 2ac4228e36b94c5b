#include "native/operations/cpu.h"

#include <algorithm>
#include <memory>

#include "native/operations/cases.h"

namespace framelane::bench {
namespace {

constexpr int kMostRuns = 40;

}  // namespace

double milliseconds(int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

Result<CpuTimes> measure_on_cpu(PipelineCompiler& compiler, const PipelineRequest& request, int64_t enough_ns) {
  const MonotonicNs begin = monotonic_now_ns();
  Result<std::unique_ptr<Pipeline>> made = compiler.compile(request);
  if (!made) return made.error();
  CpuTimes times;
  times.compile_ms = milliseconds(monotonic_now_ns() - begin);
  Pipeline& pipeline = *made.value();
  std::vector<std::byte> input = noise_of(request.inputs[0]), output(pipeline.outputs()[0].bytes());
  const FrameView in{input.data(), request.inputs[0]}, out{output.data(), pipeline.outputs()[0]};
  const FrameMeta meta;
  int64_t best = INT64_MAX, spent = 0;
  for (int run = 0; run < kMostRuns && spent < enough_ns; ++run) {
    if (Status status = pipeline.submit(0, {{&in, 1}, {&out, 1}, &meta}); !status) return status.error();
    const Completion completion = pipeline.wait(0);
    if (!completion.status) return completion.status.error();
    best = std::min(best, completion.compute_ns);
    spent += completion.compute_ns;
  }
  times.frame_ms = milliseconds(best);
  return times;
}

}  // namespace framelane::bench
