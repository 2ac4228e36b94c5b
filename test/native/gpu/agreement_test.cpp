// The GPU's results against the CPU's and against independent libraries: every operation, every format, sizes that no
// tile divides.
#include <gtest/gtest.h>

#include "native/gpu/gpu_rig.h"
#include "native/halide/fixtures.h"

namespace framelane {
namespace {

using test::HeldFrame;
using test::operation;
using test::Operations;

struct Named {
  const char* name;
  Operations operations;
};

std::ostream& operator<<(std::ostream& out, const Named& named) {
  return out << named.name;
}

std::vector<Named> all_operations() {
  const auto text = [](const char* of) { return std::string(of); };
  return {
      {"nothing", {}},
      {"gain", {operation("gain", {{"value", 1.5}})}},
      {"gamma", {operation("gamma", {{"value", 2.2}})}},
      {"to_uint8", {operation("convert", {{"type", text("uint8")}})}},
      {"to_uint16", {operation("convert", {{"type", text("uint16")}})}},
      {"to_float32", {operation("convert", {{"type", text("float32")}})}},
      {"crop", {operation("crop", {{"x", 0.0}, {"y", 0.0}, {"width", 1.0}, {"height", 1.0}})}},
      {"flip_horizontal", {operation("flip", {{"value", text("horizontal")}})}},
      {"flip_vertical", {operation("flip", {{"value", text("vertical")}})}},
      {"rotate_90", {operation("rotate", {{"value", 90.0}})}},
      {"rotate_180", {operation("rotate", {{"value", 180.0}})}},
      {"rotate_270", {operation("rotate", {{"value", 270.0}})}},
      {"black_level", {operation("black_level", {{"value", text("6.25%")}})}},
      {"threshold", {operation("threshold", {{"value", text("50%")}})}},
      {"unsharp", {operation("unsharp", {{"amount", 0.5}})}},
      {"unsharp_wide", {operation("unsharp", {{"amount", 0.5}, {"radius", 20.0}})}},
      {"gaussian", {operation("gaussian", {{"radius", 1.5}})}},
      {"median_3", {operation("median", {{"size", 3.0}})}},
      {"median_5", {operation("median", {{"size", 5.0}})}},
      {"local_contrast_1", {operation("local_contrast", {{"gain", 1.2}, {"levels", 1.0}})}},
      {"local_contrast_3", {operation("local_contrast", {{"gain", 1.2}, {"levels", 3.0}})}},
      {"local_contrast_8", {operation("local_contrast", {{"gain", 1.2}, {"levels", 8.0}})}},
      {"stages", {operation("local_contrast", {{"gain", 1.2}, {"levels", 3.0}, {"schedule", text("stages")}})}},
      {"nearest", {operation("resize", {{"width", 50.0}, {"height", 99.0}, {"method", text("nearest")}})}},
      {"bilinear_up", {operation("resize", {{"width", 250.0}, {"height", 199.0}})}},
      {"bilinear_down", {operation("resize", {{"width", 7.0}, {"height", 5.0}})}},
      {"bicubic", {operation("resize", {{"width", 50.0}, {"height", 99.0}, {"method", text("bicubic")}})}},
      {"area", {operation("resize", {{"width", 11.0}, {"height", 9.0}, {"method", text("area")}})}},
      {"area_up", {operation("resize", {{"width", 310.0}, {"height", 290.0}, {"method", text("area")}})}},
      {"chain",
       {operation("unsharp", {{"amount", 0.5}}), operation("gamma", {{"value", 2.0}}),
        operation("local_contrast", {{"gain", 1.2}, {"levels", 2.0}})}},
      {"long_chain",
       {operation("gain", {{"value", 1.3}}), operation("unsharp", {{"amount", 0.5}}),
        operation("unsharp", {{"amount", 0.7}, {"radius", 2.0}}),
        operation("resize", {{"width", 33.0}, {"height", 21.0}}), operation("gain", {{"value", 0.9}}),
        operation("convert", {{"type", text("uint8")}})}},
  };
}

// Sums are taken in another order and with fused operations: a grey level, or so much of float32's 0..1.
constexpr double kLevels = 1, kPart = 2e-5;

class GpuAgreementTest : public testing::TestWithParam<Named> {
 protected:
  void compare(const Operations& operations, const FrameFormat& format) {
    HeldFrame frame = gpu::noise(format, format.width * 31 + format.height);
    auto on_cpu = gpu::cpu().compiler().compile(test::request_of(operations, format));
    auto on_gpu = gpu::device().compiler().compile(test::request_of(operations, format));
    ASSERT_TRUE(on_cpu.ok()) << on_cpu.error().message;
    ASSERT_TRUE(on_gpu.ok()) << on_gpu.error().message;
    ASSERT_EQ(on_gpu.value()->outputs()[0], on_cpu.value()->outputs()[0]);
    Result<HeldFrame> wanted = test::run_frame(*on_cpu.value(), frame), made = test::run_frame(*on_gpu.value(), frame);
    ASSERT_TRUE(wanted.ok()) << wanted.error().message;
    ASSERT_TRUE(made.ok()) << made.error().message;
    const test::Difference worst = test::difference(made.value(), wanted.value().bytes.data());
    const bool is_float = info(made.value().format.pixel).type == SampleType::float32;
    EXPECT_LE(worst.most, is_float ? kPart : kLevels) << "at sample " << worst.index;
  }
};

TEST_P(GpuAgreementTest, EveryFormatAndOddSizes) {
  constexpr std::pair<uint32_t, uint32_t> kSizes[] = {{61, 44}, {1, 1}, {33, 9}, {2, 3}, {1, 57}, {130, 1}, {257, 131}};
  for (size_t pixel = 0; pixel < kPixelFormatCount; ++pixel) {
    for (const auto& [width, height] : kSizes) {
      const FrameFormat format = FrameFormat::packed(static_cast<PixelFormat>(pixel), width, height);
      SCOPED_TRACE(format.describe());
      ASSERT_NO_FATAL_FAILURE(compare(GetParam().operations, format));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, GpuAgreementTest, testing::ValuesIn(all_operations()),
                         [](const auto& of) { return std::string(of.param.name); });

using GpuWorkloadTest = GpuAgreementTest;

TEST_P(GpuWorkloadTest, AtItsFullSize) {
  compare(GetParam().operations, FrameFormat::packed(PixelFormat::mono8, 2904, 1111));
  compare(GetParam().operations, FrameFormat::packed(PixelFormat::rgb8, 1921, 1079));
}

INSTANTIATE_TEST_SUITE_P(
    R14, GpuWorkloadTest,
    testing::Values(Named{"stages",
                          {operation("local_contrast",
                                     {{"gain", 1.2}, {"levels", 3.0}, {"schedule", std::string("stages")}})}},
                    Named{"fused", {operation("local_contrast", {{"gain", 1.2}, {"levels", 3.0}})}}),
    [](const auto& of) { return std::string(of.param.name); });

class GpuFixtureTest : public testing::TestWithParam<const char*> {};

TEST_P(GpuFixtureTest, AgreesWithIndependentLibraries) {
  test::for_each_case(GetParam(), [](const test::FixtureCase& wanted, HeldFrame& input, const std::byte* output) {
    auto pipeline = gpu::device().compiler().compile(test::request_of(wanted.operations, wanted.input));
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().message;
    Result<HeldFrame> made = test::run_frame(*pipeline.value(), input);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const test::Difference worst = test::difference(made.value(), output);
    EXPECT_LE(worst.most, wanted.tolerance) << "at sample " << worst.index;
  });
}

INSTANTIATE_TEST_SUITE_P(Operations, GpuFixtureTest, testing::ValuesIn(test::kFixtures),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace framelane
