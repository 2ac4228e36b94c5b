// The channel's pipeline, with its arena and thread pool, in a loop without a channel: what ring, worker, statistics
// and sinks add is the difference to this.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device.h"
#include "core/error.h"
#include "native/workloads.h"

namespace framelane::bench {

// Thread-safety: one thread at a time.
class PipelineLoop {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PipelineLoop>> compile(const Workload& workload, uint32_t threads,
                                                                     uint32_t buffers, Device& device);
  // Frames per second of one loop that lasts about so long.
  [[nodiscard]] Result<double> run(int64_t duration_ns);

 private:
  PipelineLoop(std::unique_ptr<Pipeline> pipeline, const FrameFormat& format, uint32_t buffers);

  std::unique_ptr<Pipeline> pipeline_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::byte> result_;
  std::vector<FrameView> views_;
  FrameView output_;
  size_t next_ = 0;
};

}  // namespace framelane::bench
