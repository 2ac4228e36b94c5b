// In the steady state a frame allocates nothing, whatever the pipeline and the number of threads.
#include <gtest/gtest.h>

#include <cstdlib>

#include "fakes/await_inputs.h"
#include "halide/cpu_device.h"
#include "native/halide/frames.h"
#include "native/malloc_count.h"

namespace framelane {
namespace {

using test::HeldFrame;
using test::operation;

struct Steady {
  const char* name;
  test::Operations operations;
};

const std::vector<Steady>& pipelines() {
  static const std::vector<Steady> all{
      {"empty", {}},
      {"gain", {operation("gain", {{"value", 1.5}})}},
      {"gamma", {operation("gamma", {{"value", 2.2}})}},
      {"convert", {operation("convert", {{"type", std::string("uint16")}})}},
      {"crop", {operation("crop", {{"x", 5.0}, {"y", 3.0}, {"width", 40.0}, {"height", 20.0}})}},
      {"unsharp", {operation("unsharp", {{"amount", 0.5}})}},
      {"local_contrast", {operation("local_contrast", {{"gain", 1.2}, {"levels", 3.0}})}},
      {"nearest", {operation("resize", {{"width", 50.0}, {"height", 99.0}, {"method", std::string("nearest")}})}},
      {"bilinear", {operation("resize", {{"width", 50.0}, {"height", 99.0}})}},
      {"bicubic", {operation("resize", {{"width", 50.0}, {"height", 99.0}, {"method", std::string("bicubic")}})}},
      {"area", {operation("resize", {{"width", 50.0}, {"height", 29.0}, {"method", std::string("area")}})}},
      {"chain",
       {operation("unsharp", {{"amount", 0.5}}), operation("gamma", {{"value", 2.0}}),
        operation("local_contrast", {{"gain", 1.2}, {"levels", 2.0}})}},
  };
  return all;
}

class SteadyStateTest : public testing::TestWithParam<Steady> {
 protected:
  static Device& device() {
    static const std::unique_ptr<Device> shared = halide::make_cpu_device();
    return *shared;
  }
};

// As a channel does it: sizes vary, a result may be unwanted, a parameter changes.
TEST_P(SteadyStateTest, ThousandFramesAllocateNothing) {
  for (const uint32_t threads : {1U, 3U}) {
    HeldFrame input(FrameFormat::packed(PixelFormat::rgb8, 63, 47));
    auto made = device().compiler().compile(test::request_of(GetParam().operations, input.format, threads));
    ASSERT_TRUE(made.ok()) << made.error().message;
    Pipeline& pipeline = *made.value();
    HeldFrame output(pipeline.outputs()[0]);
    const std::vector<ParameterInfo> parameters = pipeline.parameters();
    const FrameMeta meta;
    const uint64_t before = test::allocations();
    int failures = 0;
    for (uint32_t frame = 0; frame < 1000; ++frame) {
      FrameView in = input.view(), out = output.view();
      in.format.height = 47 - frame % 20;
      out.format = pipeline.output_for(0, {&in.format, 1});
      if (frame % 7 == 0) out.data = nullptr;
      if (!parameters.empty() && !pipeline.set_parameter(parameters[0].name, 1 + frame % 5).ok()) ++failures;
      if (!pipeline.submit(0, {{&in, 1}, {&out, 1}, &meta}).ok()) ++failures;
      fakes::await_inputs(pipeline, 0);
      if (!pipeline.wait(0).status.ok()) ++failures;
    }
    EXPECT_EQ(test::allocations(), before) << threads << " threads";
    EXPECT_EQ(failures, 0);
  }
}

TEST(MallocCountTest, SeesAnAllocation) {
  const uint64_t before = test::allocations(), here = test::thread_allocations();
  void* volatile data = std::malloc(10);
  EXPECT_GT(test::allocations(), before);
  EXPECT_EQ(test::thread_allocations(), here + 1);
  std::free(data);
}

INSTANTIATE_TEST_SUITE_P(Pipelines, SteadyStateTest, testing::ValuesIn(pipelines()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace framelane
