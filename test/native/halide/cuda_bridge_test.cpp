// Halide's own CUDA runtime in a process that has a GPU open: it gets the counted driver and no context.
#include "halide/cuda_bridge.h"

#include <Halide.h>

#include <thread>

#include "halide/compiled_code.h"
#include "halide/cpu_device.h"
#include "native/halide/cuda_rig.h"

namespace framelane::test {
namespace {

class CudaBridgeTest : public CudaRig {
 protected:
  // Compiled without our launch functions, as a stranger would.
  int run_on_halides_own_runtime() {
    const Halide::Var x("x"), y("y"), tile_x("tile_x"), tile_y("tile_y"), column("column"), row("row");
    Halide::Func out("out");
    out(x, y) = x + y;
    out.gpu_tile(x, y, tile_x, tile_y, column, row, 8, 8, Halide::TailStrategy::GuardWithIf);
    const Halide::Callable code = out.compile_to_callable({}, halide::cuda_target(86));
    Halide::Buffer<int> result(16, 16);
    Halide::JITUserContext context;
    context.handlers.custom_error = [](Halide::JITUserContext*, const char*) {};
    Halide::JITUserContext* const first = &context;
    const void* const arguments[] = {&first, result.raw_buffer()};
    return code.call_argv_fast(2, arguments);
  }
};

TEST_F(CudaBridgeTest, HalidesOwnRuntimeFindsNoContext) {
  open();
  const uint64_t launches = driver.cuLaunchKernel.calls(), contexts = driver.cuCtxCreate.calls();
  EXPECT_NE(run_on_halides_own_runtime(), 0);
  EXPECT_EQ(driver.cuLaunchKernel.calls(), launches);
  EXPECT_EQ(driver.cuCtxCreate.calls(), contexts);
  EXPECT_EQ(driver.calls(cuda::CallKind::device_sync), 0U);
}

TEST_F(CudaBridgeTest, TheCpuIsNotTouchedByIt) {
  open();
  const auto cpu = halide::make_cpu_device();
  const FrameFormat format = FrameFormat::packed(PixelFormat::mono8, 50, 40);
  const auto request = request_of({operation("gain", {{"value", 2.0}})}, format, 3);
  auto on_cpu = cpu->compiler().compile(request);
  auto on_gpu = device->compiler().compile(request);
  ASSERT_TRUE(on_cpu.ok() && on_gpu.ok());
  HeldFrame frame(format);
  std::fill(frame.bytes.begin(), frame.bytes.end(), std::byte{21});
  std::thread other([&] {
    HeldFrame own = frame;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(run_frame(*on_gpu.value(), own).ok());
  });
  for (int i = 0; i < 100; ++i) {
    Result<HeldFrame> made = run_frame(*on_cpu.value(), frame);
    ASSERT_TRUE(made.ok());
    ASSERT_EQ(std::to_integer<int>(made.value().bytes[1999]), 42);
  }
  other.join();
}

TEST_F(CudaBridgeTest, AProcessHasOneDriver) {
  open();
  EXPECT_TRUE(halide::install_cuda_bridge(driver).ok());
  DeviceOptions other = options();
  other.library = directory + "/another.so";
  std::filesystem::copy_file(fake_cuda::FakeCuda::path(), other.library);
  Result<std::unique_ptr<Device>> refused = halide::make_cuda_device(other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST_F(CudaBridgeTest, TwoGpusHaveTheirOwnKernels) {
  fake.reset("devices=2");
  open();
  DeviceOptions second = options();
  second.id = "cuda:1";
  Result<std::unique_ptr<Device>> other = halide::make_cuda_device(second);
  ASSERT_TRUE(other.ok()) << other.error().message;
  const FrameFormat format = FrameFormat::packed(PixelFormat::mono8, 50, 40);
  const auto request = request_of({operation("unsharp", {{"amount", 0.5}})}, format);
  auto first_one = device->compiler().compile(request), second_one = other.value()->compiler().compile(request);
  ASSERT_TRUE(first_one.ok() && second_one.ok());
  EXPECT_EQ(fake.live("modules"), 2U);
  EXPECT_EQ(fake.calls("cuLinkComplete"), 1U);  // one architecture: the second takes what the first has kept
  HeldFrame frame(format);
  for (Pipeline* pipeline : {first_one.value().get(), second_one.value().get(), first_one.value().get()}) {
    ASSERT_TRUE(run_frame(*pipeline, frame).ok());
    fake_cuda::FakeLaunch launch;
    ASSERT_TRUE(fake.launch(fake.launches() - 1, &launch));
    EXPECT_EQ(launch.device, pipeline == second_one.value().get() ? 1 : 0);
  }
}

// What a channel learns when the GPU goes while it compiles, and that the engine hears of it once.
TEST_F(CudaBridgeTest, ALostGpuIsReported) {
  struct Listener : DeviceListener {
    std::atomic<int> calls{0};
    void device_lost(const Error& why) noexcept override {
      EXPECT_EQ(why.code, ErrorCode::device_lost);
      ++calls;
    }
  } listener;
  open();
  device->listen(listener);
  fake.poison("cuModuleLoadData", 1);
  auto failed = compile({operation("unsharp", {{"amount", 0.5}})}, FrameFormat::packed(PixelFormat::mono8, 50, 40));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::device_lost);
  auto again = compile({operation("gain", {{"value", 0.5}})}, FrameFormat::packed(PixelFormat::mono8, 50, 40));
  EXPECT_EQ(again.error().code, ErrorCode::device_lost);
  EXPECT_EQ(listener.calls.load(), 1);
  device.reset();  // ends, although no call works any more
  fake.reset("");
}

}  // namespace
}  // namespace framelane::test
