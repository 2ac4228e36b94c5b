// What the benchmark of the device cache asks for is what pipelines ask for.
#include <map>
#include <set>
#include <sstream>

#include "cuda/device_cache.h"
#include "cuda/stream_cache.h"
#include "halide/cuda_compiler.h"
#include "native/cache/traces.h"
#include "native/halide/cuda_rig.h"

namespace framelane::test {
namespace {

// As bench::RecordedFrame has them. Thread-safety: the test's thread.
class Recorder final : public cuda::BlockObserver {
 public:
  void given(cuda::CUdeviceptr block, size_t asked_bytes) noexcept override {
    steps.push_back(static_cast<int64_t>(asked_bytes));
    held_[block] = ++asked_;
  }
  void returned(cuda::CUdeviceptr block) noexcept override { steps.push_back(-held_[block]); }
  void clear() {
    steps.clear();
    asked_ = 0;
  }

  std::vector<int64_t> steps;

 private:
  std::map<cuda::CUdeviceptr, int64_t> held_;
  int64_t asked_ = 0;
};

std::string text_of(const std::vector<int64_t>& steps) {
  std::ostringstream text;
  for (const int64_t step : steps) text << step << ", ";
  return text.str();
}

class RecordedFramesTest : public CudaRig {
 protected:
  // One frame of so many rows, after another one.
  void record(halide::CudaCompiler& compiler, const cuda::LaunchPlace& place, const bench::RecordedFrame& frame) {
    const FrameFormat& highest = frame.workload.format;
    auto program = compiler.compile_program(request_of(frame.workload.pipeline.operations, highest));
    ASSERT_TRUE(program.ok()) << program.error().message;
    FrameFormat format = highest;
    format.height = frame.rows;
    const FrameFormat result = program.value()->output_for(0, {&format, 1});
    const cuda::DeviceFrame in{place.memory->allocate(highest.bytes()).take(), format};
    const cuda::DeviceFrame out{place.memory->allocate(result.bytes()).take(), result};
    for (int i = 0; i < 2; ++i) {
      recorder.clear();
      const Status put = program.value()->enqueue(place, {&in, 1}, {&out, 1});
      EXPECT_TRUE(put.ok()) << put.error().message;
    }
    EXPECT_EQ(recorder.steps, frame.steps)
        << frame.workload.name << ", " << frame.rows << " rows, asks for " << text_of(recorder.steps);
    driver.cuStreamSynchronize(place.stream);
    for (const cuda::DeviceFrame& one : {in, out}) EXPECT_TRUE(place.memory->release(one.data).ok());
  }

  Recorder recorder;
};

TEST_F(RecordedFramesTest, AreWhatPipelinesAskFor) {
  const cuda::Gpu gpu = cuda::find_gpu(driver, "cuda:0").take();
  const auto context = cuda::Context::open(driver, gpu).take();
  ASSERT_TRUE(context->make_current().ok());
  cuda::DeviceCacheOptions observed;
  observed.observer = &recorder;
  const auto cache = cuda::DeviceCache::open(driver, context->handle(), observed).take();
  cuda::HostMemory host(*context);
  cuda::Watch watch(*context, 0);
  cuda::Bus bus;
  halide::CudaCompiler compiler({*context, *cache, host, watch, bus}, {});
  const cuda::Stream stream = cuda::make_stream(driver).take();
  const auto memory = cache->open_stream(stream.get(), "test").take();
  for (const bench::RecordedFrame& frame : bench::recorded_frames())
    ASSERT_NO_FATAL_FAILURE(record(compiler, {context->handle(), stream.get(), memory.get()}, frame));
}

TEST(TracesTest, GiveBackWhatTheyAskFor) {
  for (const bench::Trace& trace : bench::traces()) {
    std::map<uint32_t, size_t> held;
    size_t bytes = 0, most = 0, most_at = 0;
    for (size_t i = 0; i < trace.steps.size(); ++i) {
      const bench::Step& step = trace.steps[i];
      ASSERT_LT(step.block, trace.blocks);
      ASSERT_EQ(held.count(step.block), step.bytes == 0 ? 1U : 0U) << trace.name << ", step " << i;
      bytes = bytes + step.bytes - held[step.block];
      if (step.bytes == 0)
        held.erase(step.block);
      else
        held[step.block] = step.bytes;
      if (bytes > most) most = bytes, most_at = i + 1;
    }
    EXPECT_TRUE(held.empty()) << trace.name;
    EXPECT_EQ(trace.peak_bytes, most);
    EXPECT_EQ(trace.peak_step, most_at);
  }
}

// Or it would not tell anything that R14 does not.
TEST(TracesTest, TheMixedOneHasManySizesInUseAtOnce) {
  const bench::Trace &r14 = bench::traces()[0], &mixed = bench::traces()[1];
  const auto sizes = [](const bench::Trace& trace) {
    std::set<size_t> different;
    for (const bench::Step& step : trace.steps) different.insert(step.bytes);
    return different.size();
  };
  EXPECT_GE(sizes(mixed), 2 * sizes(r14));
  EXPECT_GT(mixed.peak_bytes, r14.peak_bytes);
}

}  // namespace
}  // namespace framelane::test
