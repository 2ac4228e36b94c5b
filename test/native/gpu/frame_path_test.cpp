// Whole pipelines on the GPU: what every pipeline keeps, the steady state, parameters, channels side by side.
#include <thread>

#include "native/conformance/pipeline_conformance.h"
#include "native/gpu/gpu_rig.h"

namespace framelane {

using test::HeldFrame;
using test::operation;
using test::Operations;

namespace conformance {
namespace {

PipelineCase of(const std::string& name, Operations operations, PixelFormat pixel) {
  return {name,
          [](const PipelineRequest& request) { return gpu::device().compiler().compile(request); },
          {std::move(operations)},
          FrameFormat::packed(pixel, 61, 44)};
}

INSTANTIATE_TEST_SUITE_P(
    Gpu, PipelineConformance,
    testing::Values(of("copy", {}, PixelFormat::mono16),
                    of("pointwise", {operation("gain", {{"value", 1.5}}), operation("gamma", {{"value", 2.2}})},
                       PixelFormat::rgb32f),
                    of("stencil", {operation("unsharp", {{"amount", 0.5}})}, PixelFormat::rgb8),
                    of("pyramid", {operation("local_contrast", {{"gain", 1.2}, {"levels", 3.0}})},
                       PixelFormat::rgb16_planar),
                    of("geometry",
                       {operation("crop", {{"x", 3.0}, {"y", 0.0}, {"width", 50.0}, {"height", 40.0}}),
                        operation("resize", {{"width", 20.0}, {"height", 30.0}}),
                        operation("convert", {{"type", std::string("float32")}})},
                       PixelFormat::rgb8)),
    [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace conformance

namespace {

const FrameFormat kFormat = FrameFormat::packed(PixelFormat::mono8, 640, 480);

Operations contrast(double gain) {
  return {operation("local_contrast", {{"gain", gain}, {"levels", 3.0}})};
}

std::unique_ptr<Pipeline> compile(Device& on, const Operations& operations, const FrameFormat& format = kFormat) {
  auto made = on.compiler().compile(test::request_of(operations, format));
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made ? made.take() : nullptr;
}

int most_apart(const HeldFrame& a, const HeldFrame& b) {
  int most = 0;
  for (size_t i = 0; i < a.bytes.size(); ++i)
    most = std::max(most, std::abs(std::to_integer<int>(a.bytes[i]) - std::to_integer<int>(b.bytes[i])));
  return most;
}

TEST(GpuFramePathTest, TheSteadyStateOnlyCopiesAndLaunches) {
  HeldFrame input = gpu::noise(kFormat, 1);
  const auto pipeline = compile(gpu::device(), contrast(1.2));
  HeldFrame output(pipeline->outputs()[0]);
  ASSERT_TRUE(gpu::device().adopt_host(input.bytes.data(), input.bytes.size(), input.bytes.size()).ok());
  ASSERT_TRUE(gpu::device().adopt_host(output.bytes.data(), output.bytes.size(), output.bytes.size()).ok());
  const FrameView in = input.view(), out = output.view();
  const FrameMeta meta;
  const auto run = [&](int frames) {
    for (int i = 0; i < frames; ++i) {
      ASSERT_TRUE(pipeline->submit(0, {{&in, 1}, {&out, 1}, &meta}).ok());
      ASSERT_TRUE(pipeline->wait(0).status.ok());
    }
  };
  ASSERT_NO_FATAL_FAILURE(run(10));
  using cuda::CallKind;
  constexpr CallKind kForbidden[] = {CallKind::alloc,       CallKind::free, CallKind::device_sync,
                                     CallKind::module_load, CallKind::link, CallKind::graph};
  std::vector<uint64_t> before;
  for (const CallKind kind : kForbidden) before.push_back(gpu::driver().calls(kind));
  ASSERT_NO_FATAL_FAILURE(run(1000));
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(gpu::driver().calls(kForbidden[i]), before[i]) << i;
  EXPECT_EQ(pipeline->report().replay, Replay::captured);
  EXPECT_EQ(pipeline->report().staged_frames, 0U);
  gpu::device().forget_host(input.bytes.data());
  gpu::device().forget_host(output.bytes.data());
}

TEST(GpuFramePathTest, AParameterCountsFromTheNextFrameOn) {
  HeldFrame input = gpu::noise(kFormat, 2);
  const auto changing = compile(gpu::device(), contrast(1.2));
  for (const double gain : {0.0, 0.5, 3.0, -1.0}) {
    const auto fixed = compile(gpu::device(), contrast(gain));
    ASSERT_TRUE(changing->set_parameter("local_contrast.gain", gain).ok());
    HeldFrame a = test::run_frame(*changing, input).take(), b = test::run_frame(*fixed, input).take();
    EXPECT_EQ(a.bytes, b.bytes) << gain;
  }
  EXPECT_EQ(changing->report().replay, Replay::captured);
}

TEST(GpuFramePathTest, ShorterFramesGiveWhatTheCpuGives) {
  const auto on_gpu = compile(gpu::device(), contrast(1.2)), on_cpu = compile(gpu::cpu(), contrast(1.2));
  for (const uint32_t height : {480U, 479U, 33U, 1U, 480U}) {
    FrameFormat shorter = kFormat;
    shorter.height = height;
    HeldFrame input = gpu::noise(shorter, height);
    EXPECT_LE(most_apart(test::run_frame(*on_gpu, input).take(), test::run_frame(*on_cpu, input).take()), 1) << height;
  }
}

// Only the region arrives on the device, whatever lay there before.
TEST(GpuFramePathTest, ACropReadsNothingThatWasNotUploaded) {
  const Operations operations{operation("crop", {{"x", 301.0}, {"y", 217.0}, {"width", 101.0}, {"height", 99.0}}),
                              operation("unsharp", {{"amount", 0.7}, {"radius", 3.0}})};
  const Operations reversed{operations[1], operations[0]};
  for (const Operations& both : {operations, reversed}) {
    const auto on_gpu = compile(gpu::device(), both), on_cpu = compile(gpu::cpu(), both);
    for (uint32_t seed = 0; seed < 3; ++seed) {
      HeldFrame input = gpu::noise(kFormat, seed);
      EXPECT_LE(most_apart(test::run_frame(*on_gpu, input).take(), test::run_frame(*on_cpu, input).take()), 1);
    }
  }
}

TEST(GpuFramePathTest, ChannelsDoNotDisturbEachOther) {
  constexpr uint32_t kChannels = 8;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint32_t channel = 0; channel < kChannels; ++channel) {
    threads.emplace_back([channel, &wrong] {
      const auto pipeline = compile(gpu::device(), contrast(0.3 * channel));
      HeldFrame input = gpu::noise(kFormat, channel);
      const HeldFrame first = test::run_frame(*pipeline, input).take();
      for (int frame = 0; frame < 200; ++frame)
        if (test::run_frame(*pipeline, input).value().bytes != first.bytes) wrong.fetch_add(1);
      const auto on_cpu = compile(gpu::cpu(), contrast(0.3 * channel));
      if (most_apart(first, test::run_frame(*on_cpu, input).take()) > 1) wrong.fetch_add(1000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace framelane
