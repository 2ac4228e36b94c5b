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
      {r14, 1111, {13664400, 6827568, 3407888, -2, 1701632, 847872, -4,  422784,  209924, -6,       417560, -7, 823440,
                   -5,       -8,      1640112, -9, 3245328, -3,     -10, 6481728, -11,    12905376, -12,    -1, -13}},
      {r14, 613, {7811600, 3903152, 1945680, -2, 971520,  482816, -4,  240752,  118908, -6,      236520, -7, 458440,
                  -5,      -8,      913112,  -9, 1797144, -3,     -10, 3589344, -11,    7120608, -12,    -1, -13}},
      {contrast_of_rgb(),
       1080,
       {7122480, 1771056, 438000, 107136, 406992, -3, -4, 1591392, -2, -5, 6256848, -1, -6, -7}},
      {sharpened(), 2048, {16777216, 4276624, 1065024, 4210704, -2, -3, -1, -4}},
  };
  return all;
}

}  // namespace framelane::bench
