// Compiled pipelines on the fake driver's frame path: what a frame costs in driver calls, bytes and allocations.
#include <algorithm>
#include <thread>

#include "cuda/device_cache.h"
#include "cuda/stream_cache.h"
#include "fakes/eventually.h"
#include "halide/cuda_compiler.h"
#include "native/allocations.h"
#include "native/halide/cuda_rig.h"

namespace framelane::test {
namespace {

using cuda::CallKind;

const FrameFormat kFormat = FrameFormat::packed(PixelFormat::rgb8, 63, 47);

Operations contrast(double gain = 1.2) {
  return {operation("local_contrast", {{"gain", gain}, {"levels", 3.0}})};
}

Operations crop_of(double x, double y, double width, double height) {
  return {operation("crop", {{"x", x}, {"y", y}, {"width", width}, {"height", height}})};
}

class CudaFramesTest : public CudaRig {
 protected:
  CudaFramesTest() { inside_a_fake = fake.inside; }
  void SetUp() override { open(); }

  // Frames of this extent from pinned memory, each waited for.
  void run(Pipeline& pipeline, AdoptedFrame& in, AdoptedFrame& out, int frames, uint32_t height) {
    const FrameMeta meta;
    FrameView input = in.view(), output = out.view();
    input.format.height = height;
    output.format = pipeline.output_for(0, {&input.format, 1});
    for (int i = 0; i < frames; ++i) {
      const Status submitted = pipeline.submit(0, {{&input, 1}, {&output, 1}, &meta});
      ASSERT_TRUE(submitted.ok()) << submitted.error().message;
      const Status done = pipeline.wait(0).status;
      ASSERT_TRUE(done.ok()) << done.error().message;
    }
  }
  [[nodiscard]] uint64_t bytes_copied_from(uint64_t first, fake_cuda::FakeCopy::Direction direction) const {
    uint64_t bytes = 0;
    fake_cuda::FakeCopy copy;
    for (uint64_t i = first; i < fake.copies(); ++i)
      if (fake.copy(i, &copy) && copy.direction == direction) bytes += copy.bytes;
    return bytes;
  }
};

// The fake finds every call that the steady state does not allow.
TEST_F(CudaFramesTest, TheSteadyStateOnlyCopiesAndLaunches) {
  auto made = compile(contrast(), kFormat);
  ASSERT_TRUE(made.ok()) << made.error().message;
  AdoptedFrame in(*device, kFormat), out(*device, kFormat);
  ASSERT_NO_FATAL_FAILURE(run(*made.value(), in, out, 20, kFormat.height));
  fake.steady(true);
  const uint64_t launches = driver.cuLaunchKernel.calls(), graphs = driver.cuGraphLaunch.calls();
  const uint64_t allocated = thread_allocations();
  ASSERT_NO_FATAL_FAILURE(run(*made.value(), in, out, 500, kFormat.height));
  EXPECT_EQ(thread_allocations(), allocated);
  EXPECT_EQ(driver.cuLaunchKernel.calls(), launches);
  EXPECT_EQ(driver.cuGraphLaunch.calls(), graphs + 500);
  EXPECT_EQ(made.value()->report().replay, Replay::captured);
  EXPECT_EQ(made.value()->report().staged_frames, 0U);
  EXPECT_EQ(fake.detections(nullptr), 0U) << fake.report_text();
  fake.steady(false);
}

// Where a graph does not fit, kernels are launched one by one: no other call of the driver for it.
TEST_F(CudaFramesTest, ShorterFramesAreLaunchedDirectly) {
  auto made = compile(contrast(), kFormat);
  ASSERT_TRUE(made.ok()) << made.error().message;
  AdoptedFrame in(*device, kFormat), out(*device, kFormat);
  ASSERT_NO_FATAL_FAILURE(run(*made.value(), in, out, 20, 30));
  fake.steady(true);
  const uint64_t functions = driver.cuModuleGetFunction.calls(), pushes = driver.cuCtxPushCurrent.calls();
  const uint64_t launches = driver.cuLaunchKernel.calls(), allocated = thread_allocations();
  ASSERT_NO_FATAL_FAILURE(run(*made.value(), in, out, 100, 30));
  EXPECT_EQ(thread_allocations(), allocated);
  EXPECT_GE(driver.cuLaunchKernel.calls(), launches + 100);
  EXPECT_EQ(driver.cuModuleGetFunction.calls(), functions);
  EXPECT_EQ(driver.cuCtxPushCurrent.calls(), pushes);
  EXPECT_EQ(fake.detections(nullptr), 0U) << fake.report_text();
  fake.steady(false);
}

TEST_F(CudaFramesTest, AParameterIsCapturedAnew) {
  auto made = compile({operation("gain", {{"value", 2.0}})}, kFormat);
  ASSERT_TRUE(made.ok());
  AdoptedFrame in(*device, kFormat), out(*device, kFormat);
  const auto value_of_last = [&]() -> float {
    fake_cuda::FakeLaunch launch;
    EXPECT_TRUE(fake.launch(fake.launches() - 1, &launch));
    for (size_t i = 0; i < launch.parameters; ++i) {
      float value = 0;
      std::memcpy(&value, &launch.parameter[i].value, sizeof value);
      if (launch.parameter[i].bytes == 4 && value > 0.5F && value < 10) return value;
    }
    return 0;
  };
  ASSERT_NO_FATAL_FAILURE(run(*made.value(), in, out, 1, kFormat.height));
  EXPECT_EQ(value_of_last(), 2.0F);
  ASSERT_TRUE(made.value()->set_parameter("gain.value", 3).ok());
  ASSERT_NO_FATAL_FAILURE(run(*made.value(), in, out, 1, kFormat.height));
  EXPECT_EQ(value_of_last(), 3.0F);
  EXPECT_EQ(made.value()->report().replay, Replay::captured);
}

TEST_F(CudaFramesTest, OnlyWhatIsReadIsUploaded) {
  const FrameFormat large = FrameFormat::packed(PixelFormat::mono32f, 3840, 2160);
  const auto uploaded = [&](Operations operations) -> uint64_t {
    auto made = compile(std::move(operations), large);
    EXPECT_TRUE(made.ok());
    AdoptedFrame in(*device, large), out(*device, made.value()->outputs()[0]);
    const uint64_t first = fake.copies();
    run(*made.value(), in, out, 1, large.height);
    EXPECT_EQ(bytes_copied_from(first, fake_cuda::FakeCopy::device_to_host), out.bytes.size());
    return bytes_copied_from(first, fake_cuda::FakeCopy::host_to_device);
  };
  EXPECT_EQ(uploaded(crop_of(1000, 900, 100, 100)), 40'000U);
  Operations sharpened = crop_of(1000, 900, 100, 100);
  sharpened.insert(sharpened.begin(), operation("unsharp", {{"amount", 0.5}, {"radius", 1.0}}));
  EXPECT_EQ(uploaded(sharpened), 106U * 106 * 4);
  EXPECT_EQ(uploaded(contrast()), large.bytes());
}

TEST_F(CudaFramesTest, AnUnwantedOutputIsNotDownloaded) {
  auto made = compile(contrast(), kFormat);
  ASSERT_TRUE(made.ok());
  AdoptedFrame in(*device, kFormat);
  const uint64_t first = fake.copies();
  const FrameView input = in.view(), unwanted{nullptr, made.value()->outputs()[0], MemoryKind::host};
  const FrameMeta meta;
  ASSERT_TRUE(made.value()->submit(0, {{&input, 1}, {&unwanted, 1}, &meta}).ok());
  ASSERT_TRUE(made.value()->wait(0).status.ok());
  EXPECT_EQ(bytes_copied_from(first, fake_cuda::FakeCopy::device_to_host), 0U);
}

TEST_F(CudaFramesTest, TheDeviceReportsItsMemoryAndItsCalls) {
  DeviceReport report;
  device->report(report);
  EXPECT_EQ(report.in_use_bytes, 0U);
  auto made = compile(contrast(), kFormat);
  ASSERT_TRUE(made.ok());
  AdoptedFrame in(*device, kFormat);
  device->report(report);
  EXPECT_GE(report.in_use_bytes, 2 * kFormat.bytes());
  EXPECT_GE(report.high_water_bytes, report.in_use_bytes);
  EXPECT_GE(report.pinned_bytes, kFormat.bytes());
  EXPECT_GE(report.buffers, 2U);
  EXPECT_EQ(report.steady_alarms, 0U);
  ASSERT_EQ(report.calls.size(), cuda::Driver::kFunctions);
  const auto load = std::find_if(report.calls.begin(), report.calls.end(),
                                 [](const DriverCalls& one) { return one.function == "cuModuleLoadData"; });
  ASSERT_NE(load, report.calls.end());
  EXPECT_EQ(load->kind, "module_load");
  EXPECT_GE(load->calls, 1U);
}

TEST_F(CudaFramesTest, TheDeviceReportsWhatItLentAndWhatWasRefused) {
  DeviceOptions bounded = options();
  bounded.pinned_reserve_bytes = 1 << 20;
  bounded.limits.max_buffers = 1;
  open(bounded);
  DeviceReport report;
  std::byte* const lent = device->lend_host(5000);
  ASSERT_NE(lent, nullptr);
  std::vector<std::byte> own(8192);
  fake.fail("cuMemHostRegister", 1, cuda::CUDA_ERROR_OUT_OF_MEMORY, 1);
  EXPECT_TRUE(device->adopt_host(own.data(), own.size(), own.size()).ok());
  device->report(report);
  EXPECT_GE(report.pinned_lent_bytes, 5000U);
  EXPECT_LT(report.pinned_lent_bytes, report.pinned_bytes);
  EXPECT_EQ(report.pinned_refusals, 1U);
  EXPECT_EQ(report.refusals, 0U);
  EXPECT_FALSE(compile(contrast(), kFormat).ok());
  device->forget_host(lent);
  device->report(report);
  EXPECT_EQ(report.pinned_lent_bytes, 0U);
  EXPECT_EQ(report.refusals, 1U);
}

TEST_F(CudaFramesTest, TheDeviceReportsWhoWaitedForItsBus) {
  const FrameFormat large = FrameFormat::packed(PixelFormat::mono8, 4096, 2304);  // two of them fill the bus
  AdoptedFrame in(*device, large);
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  for (int i = 0; i < 3; ++i) {
    auto made = compile(contrast(), large);
    ASSERT_TRUE(made.ok()) << made.error().message;
    pipelines.push_back(made.take());
  }
  const FrameView input = in.view(), unwanted{nullptr, pipelines[0]->outputs()[0], MemoryKind::host};
  const FrameMeta meta;
  fake.pause(true);
  std::vector<std::thread> channels;
  for (const std::unique_ptr<Pipeline>& pipeline : pipelines)
    channels.emplace_back([&] {
      EXPECT_TRUE(pipeline->submit(0, {{&input, 1}, {&unwanted, 1}, &meta}).ok());
      EXPECT_TRUE(pipeline->wait(0).status.ok());
    });
  DeviceReport report;
  const bool one_waits = fakes::eventually([&] {
    device->report(report);
    return report.upload_waits == 1;
  });
  fake.pause(false);
  for (std::thread& channel : channels) channel.join();
  EXPECT_TRUE(one_waits);
  device->report(report);
  EXPECT_EQ(report.upload_waits, 1U);
  EXPECT_EQ(report.download_waits, 0U);
}

TEST_F(CudaFramesTest, AReserveThatIsTooSmallIsAnAlarm) {
  DeviceOptions small = options();
  small.reserve_bytes = uint64_t{4} << 20;
  open(small);
  auto fits = compile(contrast(), kFormat);
  ASSERT_TRUE(fits.ok());
  DeviceReport report;
  device->report(report);
  EXPECT_EQ(report.steady_alarms, 0U);
  auto larger = compile(contrast(), FrameFormat::packed(PixelFormat::rgb8, 2000, 1500));
  ASSERT_TRUE(larger.ok()) << larger.error().message;
  device->report(report);
  EXPECT_GT(report.steady_alarms, 0U);
}

TEST_F(CudaFramesTest, ABoundOnAChannelIsKept) {
  ASSERT_TRUE(device->set_limits("test", {.max_bytes = 100'000, .max_buffers = 0}).ok());
  auto refused = compile(contrast(), FrameFormat::packed(PixelFormat::rgb8, 640, 480));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::over_limit);
  ASSERT_TRUE(device->set_limits("test", {}).ok());
  EXPECT_TRUE(compile(contrast(), FrameFormat::packed(PixelFormat::rgb8, 640, 480)).ok());
}

// Halide's own way allocates twice for each kernel.
TEST_F(CudaFramesTest, PuttingKernelsOnAStreamAllocatesNothing) {
  const cuda::Gpu gpu = cuda::find_gpu(driver, "cuda:0").take();
  const auto context = cuda::Context::open(driver, gpu).take();
  ASSERT_TRUE(context->make_current().ok());
  const auto cache = cuda::DeviceCache::open(driver, context->handle(), {}).take();
  cuda::HostMemory host(*context);
  cuda::Watch watch(*context, 0);
  cuda::Bus bus;
  halide::CudaCompiler compiler({*context, *cache, host, watch, bus}, {});
  const cuda::Stream stream = cuda::make_stream(driver).take();
  const auto memory = cache->open_stream(stream.get(), "test").take();
  auto program = compiler.compile_program(request_of(contrast(), kFormat)).take();
  const cuda::DeviceFrame in{memory->allocate(kFormat.bytes()).take(), kFormat};
  const cuda::DeviceFrame out{memory->allocate(kFormat.bytes()).take(), kFormat};
  const cuda::LaunchPlace place{context->handle(), stream.get(), memory.get()};
  const auto enqueue = [&] { return program->enqueue(place, {&in, 1}, {&out, 1}).ok(); };
  ASSERT_TRUE(enqueue());
  const uint64_t launches = driver.cuLaunchKernel.calls();
  const uint64_t before = thread_allocations();
  int failures = 0;
  for (int i = 0; i < 300; ++i) failures += enqueue() ? 0 : 1;
  EXPECT_EQ(thread_allocations(), before);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(driver.cuLaunchKernel.calls(), launches + 300 * 6);
  driver.cuStreamSynchronize(stream.get());
  for (const cuda::DeviceFrame& frame : {in, out}) EXPECT_TRUE(memory->release(frame.data).ok());
}

}  // namespace
}  // namespace framelane::test
