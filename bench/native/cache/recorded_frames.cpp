#include "native/cache/traces.h"

namespace framelane::bench {
namespace {

Workload contrast_of_rgb() {
  return {"contrast-rgb",
          FrameFormat::packed(PixelFormat::rgb8, 1920, 1080),
          {{{"local_contrast", {{"gain", 1.2}, {"levels", 4.0}}}}}};
}

Workload sharpened() {
  return {"sharpened",
          FrameFormat::packed(PixelFormat::mono16, 2048, 2048),
          {{{"unsharp", {{"amount", 0.5}, {"radius", 2.0}}}, {"local_contrast", {{"gain", 1.2}, {"levels", 2.0}}}}}};
}

}  // namespace

const std::vector<RecordedFrame>& recorded_frames() {
  const Workload r14 = *find_workload("r14");
  static const std::vector<RecordedFrame> all{
      {r14, 1111, {}},
      {r14, 613, {}},
      {contrast_of_rgb(), 1080, {}},
      {sharpened(), 2048, {}},
  };
  return all;
}

}  // namespace framelane::bench
