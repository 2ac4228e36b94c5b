// What the measurements run, by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/format.h"
#include "core/pipeline.h"

namespace framelane::bench {

// Thread-safety: a value.
struct Workload {
  std::string name;
  FrameFormat format;
  PipelineSpec pipeline;
};

// r14: local contrast of 2904x1111 mono8 in 14 stages, each stored whole; r14-fused: the same picture by the tuned
// schedule; gain: one multiplication of 640x480 mono8; images: the same of 4096x3112 rgb32f.
[[nodiscard]] const std::vector<Workload>& workloads();
[[nodiscard]] std::optional<Workload> find_workload(const std::string& name);

}  // namespace framelane::bench
