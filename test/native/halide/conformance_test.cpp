#include "halide/cpu_device.h"
#include "native/conformance/pipeline_conformance.h"
#include "native/halide/frames.h"

namespace framelane::conformance {
namespace {

Result<std::unique_ptr<Pipeline>> compile(const PipelineRequest& request) {
  static const std::unique_ptr<Device> device = halide::make_cpu_device();
  return device->compiler().compile(request);
}

PipelineCase of(const std::string& name, test::Operations operations, PixelFormat pixel) {
  return {name, compile, {std::move(operations)}, FrameFormat::packed(pixel, 61, 44)};
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, PipelineConformance,
    testing::Values(
        of("copy", {}, PixelFormat::mono16),
        of("pointwise", {test::operation("gain", {{"value", 1.5}}), test::operation("gamma", {{"value", 2.2}})},
           PixelFormat::rgb32f),
        of("stencil", {test::operation("unsharp", {{"amount", 0.5}})}, PixelFormat::rgb8),
        of("pyramid", {test::operation("local_contrast", {{"gain", 1.2}, {"levels", 3.0}})}, PixelFormat::rgb16_planar),
        of("geometry",
           {test::operation("crop", {{"x", 3.0}, {"y", 0.0}, {"width", 50.0}, {"height", 40.0}}),
            test::operation("resize", {{"width", 20.0}, {"height", 30.0}}),
            test::operation("convert", {{"type", std::string("float32")}})},
           PixelFormat::rgb8)),
    [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace framelane::conformance
