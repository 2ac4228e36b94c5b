#include "native/pipeline_loop.h"

#include "native/timed_loop.h"

namespace framelane::bench {

Result<std::unique_ptr<PipelineLoop>> PipelineLoop::compile(const Workload& workload, uint32_t threads,
                                                            uint32_t buffers, Device& device) {
  PipelineRequest request;
  request.channel = "loop";
  request.spec = workload.pipeline;
  request.inputs = {workload.format};
  request.threads = threads;
  Result<std::unique_ptr<Pipeline>> pipeline = device.compiler().compile(request);
  if (!pipeline) return pipeline.error();
  return std::unique_ptr<PipelineLoop>(new PipelineLoop(pipeline.take(), workload.format, buffers));
}

PipelineLoop::PipelineLoop(std::unique_ptr<Pipeline> pipeline, const FrameFormat& format, uint32_t buffers)
    : pipeline_(std::move(pipeline)), result_(pipeline_->outputs()[0].bytes()) {
  uint32_t value = 1;
  for (uint32_t i = 0; i < buffers; ++i) {
    std::vector<std::byte>& bytes = inputs_.emplace_back(format.bytes());
    for (std::byte& byte : bytes) byte = static_cast<std::byte>((value = value * 1664525U + 1013904223U) >> 24);
    views_.push_back({bytes.data(), format, MemoryKind::host});
  }
  output_ = {result_.data(), pipeline_->outputs()[0], MemoryKind::host};
}

Result<double> PipelineLoop::run(int64_t duration_ns) {
  const FrameMeta meta;
  return timed_loop(duration_ns, [&] {
    const Job job{{&views_[next_], 1}, {&output_, 1}, &meta};
    next_ = next_ + 1 == views_.size() ? 0 : next_ + 1;
    return pipeline_->submit(0, job).ok() && pipeline_->wait(0).status.ok();
  });
}

}  // namespace framelane::bench
