#include "native/workloads.h"

namespace framelane::bench {
namespace {

PipelineSpec local_contrast(const char* schedule) {
  return {{{"local_contrast", {{"gain", 1.2}, {"levels", 3.0}, {"schedule", std::string(schedule)}}}}};
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all{
      {"r14", FrameFormat::packed(PixelFormat::mono8, 2904, 1111), local_contrast("stages")},
      {"r14-fused", FrameFormat::packed(PixelFormat::mono8, 2904, 1111), local_contrast("fused")},
      {"gain", FrameFormat::packed(PixelFormat::mono8, 640, 480), {{{"gain", {{"value", 1.1}}}}}},
      {"images", FrameFormat::packed(PixelFormat::rgb32f, 4096, 3112), {{{"gain", {{"value", 1.1}}}}}},
  };
  return all;
}

std::optional<Workload> find_workload(const std::string& name) {
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
  }
  return std::nullopt;
}

}  // namespace framelane::bench
