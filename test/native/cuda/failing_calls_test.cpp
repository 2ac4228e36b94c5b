// Calls of the driver fail at random while several threads work: what is refused is told as an error, no block gets two
// owners, nothing is used after it was given back, and what comes once the driver works again is as good as ever.
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "fakes/await_inputs.h"
#include "native/cuda/cache_fixture.h"
#include "native/cuda/cuda_rig.h"

namespace framelane::cuda {
namespace {

// Lets calls fail now and then until it is destroyed: at most one in some dozens, however slowly they come.
// Thread-safety: owned by the test's thread.
class Trouble {
 public:
  Trouble(const fake_cuda::FakeCuda& fake, std::vector<const char*> calls, unsigned seed)
      : fake_(fake), calls_(std::move(calls)), thread_([this, seed] { run(seed); }) {}
  ~Trouble() {
    ended_ = true;
    thread_.join();
    fake_.mend();
  }

 private:
  void run(unsigned seed) {
    constexpr std::array kResults = {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY};
    std::mt19937 random(seed);
    while (!ended_) {
      fake_.fail(calls_[random() % calls_.size()], 1 + random() % 4, kResults[random() % kResults.size()],
                 1 + random() % 2);
      const uint64_t next = fake_.calls(nullptr) + random() % 64;
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      while (!ended_ && fake_.calls(nullptr) < next) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  const fake_cuda::FakeCuda& fake_;
  const std::vector<const char*> calls_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

bool is_refusal(const Error& error) {
  return error.code == ErrorCode::over_limit || error.code == ErrorCode::out_of_memory ||
         error.code == ErrorCode::device_failed;
}

class FailingCache : public CacheTest {
 protected:
  // Thread-safety: one thread's.
  struct Walk {
    std::mt19937 random;
    CUstream stream = nullptr;
    std::unique_ptr<StreamCache> memory;
    std::vector<CUdeviceptr> mine;
    std::vector<HeldBlocks> graphs;
  };

  void hold_some(Walk& walk) {
    ASSERT_TRUE(walk.memory->begin_hold());
    const Result<CUdeviceptr> block = walk.memory->allocate(size_t{1} << (8 + walk.random() % 12));
    if (block) {
      EXPECT_TRUE(walk.memory->release(block.value()));
    }
    if (walk.random() % 3 == 0) return walk.memory->abort_hold();
    Result<HeldBlocks> held = walk.memory->end_hold();
    if (held)
      walk.graphs.push_back(held.take());
    else
      EXPECT_TRUE(is_refusal(held.error())) << held.error().message;
  }
  void give_one(Walk& walk) {
    const size_t at = walk.random() % walk.mine.size();
    const CUdeviceptr block = std::exchange(walk.mine[at], walk.mine.back());
    walk.mine.pop_back();
    const Status released = walk.random() % 8 == 0 ? cache->release(block) : walk.memory->release(block);
    EXPECT_TRUE(released) << released.error().message;
  }
  void take_one(Walk& walk) {
    const size_t bytes = size_t{1} << (8 + walk.random() % 14);
    const Result<CUdeviceptr> block = walk.memory->allocate(bytes);
    if (!block) {
      EXPECT_TRUE(is_refusal(block.error())) << block.error().message;
      return;
    }
    walk.mine.push_back(block.value());
    use(*walk.memory, block.value(), bytes);
  }
  // Blocks in use outlive their stream's cache, and the stream; graphs are dropped when it has come to its end.
  void reopen(Walk& walk, const std::string& channel) {
    walk.memory.reset();
    for (const CUdeviceptr block : std::exchange(walk.mine, {})) EXPECT_TRUE(cache->release(block));
    wait_for_real(walk.stream);
    walk.graphs.clear();
    EXPECT_EQ(driver.cuStreamDestroy(walk.stream), CUDA_SUCCESS);
    walk.stream = make_stream();
    for (;;) {
      Result<std::unique_ptr<StreamCache>> opened = cache->open_stream(walk.stream, channel);
      if (opened) {
        walk.memory = opened.take();
        return;
      }
      EXPECT_TRUE(is_refusal(opened.error())) << opened.error().message;
    }
  }
  void wait_for_real(CUstream stream) {
    while (driver.cuStreamSynchronize(stream) != CUDA_SUCCESS) std::this_thread::yield();
  }
  void run(int index, int steps) {
    ASSERT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    Walk walk;
    walk.random.seed(static_cast<unsigned>(index) + 1);
    const std::string channel = index % 2 == 0 ? "even" : "odd";
    walk.stream = make_stream();
    walk.memory = open_stream_on(walk.stream, channel);
    for (int step = 0; step < steps; ++step) {
      const unsigned what = walk.random() % 100;
      if (what == 0)
        reopen(walk, channel);
      else if (what < 4)
        hold_some(walk);
      else if (what < 6 && !walk.graphs.empty()) {
        std::ignore = walk.graphs.back().give_back(walk.stream);
        walk.graphs.pop_back();
      } else if (what == 6)
        cache->trim_now();
      else if (what < 55 || walk.mine.empty())
        take_one(walk);
      else
        give_one(walk);
    }
    reopen(walk, channel);
    walk.memory.reset();
    wait_for_real(walk.stream);
    EXPECT_EQ(driver.cuStreamDestroy(walk.stream), CUDA_SUCCESS);
  }
};

TEST_F(FailingCache, GivesNoBlockTwiceAndLeavesNothing) {
  constexpr int kThreads = 4, kSteps = 1500;
  open({.reserve_bytes = 2 * kMiB, .limits = {.max_bytes = 0, .max_buffers = 0}, .trim_after_ns = 1'000'000});
  std::atomic<bool> ended{false};
  {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { run(i, kSteps); });
    std::thread changing([&] {
      std::mt19937 random(99);
      while (!ended) {
        cache->set_limits({.max_bytes = random() % 3 * 4 * kMiB, .max_buffers = random() % 2 * 200});
        cache->set_channel_limits("odd", {.max_bytes = random() % 3 * 2 * kMiB, .max_buffers = 0});
        cache->trim();
        EXPECT_LE(cache->statistics().bytes_in_use, cache->statistics().bytes_high_water);
        std::this_thread::yield();
      }
    });
    const Trouble trouble(
        fake, {"cuMemAlloc", "cuMemFree", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize"},
        7);
    for (std::thread& thread : threads) thread.join();
    ended = true;
    changing.join();
  }
  EXPECT_EQ(cache->statistics().misuses, 0U);
  cache->set_limits({});
  cache->set_channel_limits("odd", {});
  {
    const auto stream = open_stream("after");
    give(*stream, take(*stream, 4 * kMiB));
  }
  cache.reset();
  EXPECT_EQ(fake.live("allocations"), 0U);
  // Blocks of which nobody could tell when the device was done with them were kept from everybody, to the end.
  EXPECT_EQ(detections(nullptr), detections("leak")) << fake.report_text();
  fake.clear_detections();
}

// Pipelines of one worker, opened, run and closed while calls fail. Thread-safety: one thread's.
class Worker {
 public:
  Worker(test::CudaRig& rig, unsigned seed) : rig_(rig), random_(seed) {}

  int right() const { return right_; }  // frames

  // Until so many could be opened: where calls take long, most of them meet a failing one. Without a pause, in which
  // more would gather.
  void run(int pipelines) {
    ASSERT_TRUE(fakes::eventually([&] { return rig_.context->make_current().ok(); }));
    const MonotonicNs until = monotonic_now_ns() + 60'000'000'000;
    while (opened_ < pipelines && monotonic_now_ns() < until) run_pipeline(1 + random_() % 3);
    EXPECT_EQ(opened_, pipelines);
  }

 private:
  static constexpr int kFrames = 12;

  FrameView view(size_t slot) {
    return {memory_.data() + slot * test::kFormat.bytes(), test::kFormat, MemoryKind::host};
  }

  void run_pipeline(uint32_t lanes) {
    ServiceWishes wishes;
    wishes.spin = random_() % 3 == 0;
    if (random_() % 3 == 0) wishes.on_overload = OnOverload::degrade_others;
    Result<std::unique_ptr<Pipeline>> made = rig_.open(lanes, {}, wishes);
    if (!made) {
      EXPECT_TRUE(is_refusal(made.error())) << made.error().message;
      return;
    }
    ++opened_;
    memory_.resize(test::kFormat.bytes() * 2 * lanes);
    if (random_() % 2 == 0) EXPECT_TRUE(rig_.host->adopt(memory_.data(), memory_.size(), test::kFormat.bytes()));
    test::Told listener;
    if (lanes > 1 && random_() % 2 == 0) EXPECT_TRUE(made.value()->notify(&listener));
    for (int frame = 0; frame < kFrames; ++frame) run_frames(*made.value(), lanes, frame);
    made = Error{};
    rig_.host->forget(memory_.data());
  }

  // One on each lane.
  void run_frames(Pipeline& pipeline, uint32_t lanes, int value) {
    if (random_() % 4 == 0) EXPECT_TRUE(pipeline.set_parameter("shift.value", 1));
    const FrameMeta meta;
    std::vector<bool> submitted(lanes);
    for (LaneIndex lane = 0; lane < lanes; ++lane) {
      const FrameView in = view(lane), out = view(lanes + lane);
      std::memset(in.data, value + int(lane), test::kFormat.bytes());
      const Status status = pipeline.submit(lane, {{&in, 1}, {&out, 1}, &meta});
      submitted[lane] = status.ok();
      if (submitted[lane] && random_() % 2 == 0) pipeline.tell(lane);
      if (!status) EXPECT_TRUE(is_refusal(status.error())) << status.error().message;
    }
    for (LaneIndex lane = 0; lane < lanes; ++lane)
      if (submitted[lane]) finish(pipeline, lane, view(lanes + lane).data, value + int(lane) + 1);
  }

  void finish(Pipeline& pipeline, LaneIndex lane, const std::byte* seen, int expected) {
    fakes::await_inputs(pipeline, lane);
    const Completion completion = pipeline.wait(lane);
    if (!completion.status) {
      EXPECT_TRUE(is_refusal(completion.status.error())) << completion.status.error().message;
      return;
    }
    for (size_t i = 0; i < test::kFormat.bytes(); ++i)
      ASSERT_EQ(int(seen[i]), expected) << "byte " << i << " of lane " << lane;
    ++right_;
  }

  test::CudaRig& rig_;
  std::mt19937 random_;
  std::vector<std::byte> memory_;  // of the pipeline's input slots, then its output slots
  int opened_ = 0, right_ = 0;
};

TEST(FailingPipelines, FramesAreRightOrTheirErrorSaysWhy) {
  constexpr int kPipelines = 10;
  test::CudaRig rig("", 10'000'000'000, test::CudaRig::BusWidth::narrow);
  std::vector<Worker> workers{{rig, 1}, {rig, 2}, {rig, 3}};
  {
    const std::vector<const char*> calls = {"cuMemAlloc",         "cuEventCreate",        "cuEventRecord",
                                            "cuEventQuery",       "cuEventSynchronize",   "cuStreamWaitEvent",
                                            "cuStreamGetId",      "cuMemcpyHtoDAsync",    "cuStreamCreateWithPriority",
                                            "cuMemcpyDtoHAsync",  "cuGraphLaunch",        "cuStreamBeginCapture",
                                            "cuStreamEndCapture", "cuGraphInstantiate",   "cuGraphUpload",
                                            "cuLaunchKernel",     "cuModuleLoadData",     "cuModuleGetFunction",
                                            "cuMemHostRegister",  "cuPointerGetAttribute"};
    const Trouble trouble(rig.fake, calls, 11);
    std::vector<std::thread> threads;
    for (Worker& worker : workers) threads.emplace_back([&worker] { worker.run(kPipelines); });
    for (std::thread& thread : threads) thread.join();
  }
  for (const Worker& worker : workers) EXPECT_GT(worker.right(), 0);
  EXPECT_FALSE(rig.watch->lost());
}

}  // namespace
}  // namespace framelane::cuda
