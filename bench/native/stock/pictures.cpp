#include "native/stock/pictures.h"

#include <memory>

#include "core/device.h"
#include "core/frame.h"
#include "halide/cpu_device.h"

namespace framelane::bench {

Result<Pictures> make_pictures(const Workload& workload, size_t count) {
  const std::unique_ptr<Device> device = halide::make_cpu_device();
  PipelineRequest request;
  request.channel = workload.name;
  request.spec = workload.pipeline;
  request.inputs = {workload.format};
  Result<std::unique_ptr<Pipeline>> made = device->compiler().compile(request);
  if (!made) return made.error();
  Pipeline& pipeline = *made.value();
  Pictures pictures{workload.format, pipeline.outputs()[0], {}, {}};
  uint32_t noise = 1;
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::byte>& input = pictures.inputs.emplace_back(pictures.format.bytes());
    for (std::byte& byte : input) byte = static_cast<std::byte>((noise = noise * 1664525U + 1013904223U) >> 24);
    std::vector<std::byte>& expected = pictures.expected.emplace_back(pictures.result.bytes());
    const FrameView in{input.data(), pictures.format}, out{expected.data(), pictures.result};
    const FrameMeta meta;
    if (Status status = pipeline.submit(0, {{&in, 1}, {&out, 1}, &meta}); !status) return status.error();
    if (const Completion completion = pipeline.wait(0); !completion.status) return completion.status.error();
  }
  return pictures;
}

}  // namespace framelane::bench
