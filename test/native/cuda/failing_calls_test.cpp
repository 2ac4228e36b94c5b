// Calls of the driver fail at random while several threads work: what is refused is told as an error, no block gets two
// owners, nothing is used after it was given back, and what comes once the driver works again is as good as ever.
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "native/cuda/cache_fixture.h"
#include "native/cuda/cuda_rig.h"

namespace framelane::cuda {
namespace {

// Lets calls fail now and then until it is destroyed. Thread-safety: owned by the test's thread.
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
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
  }

  const fake_cuda::FakeCuda& fake_;
  const std::vector<const char*> calls_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

bool is_refusal(const Error& error) {
  return error.code == ErrorCode::out_of_memory || error.code == ErrorCode::device_failed;
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

TEST(FailingPipelines, FramesAreRightOrTheirErrorSaysWhy) {
  constexpr int kThreads = 3, kPipelines = 25, kFrames = 12;
  test::CudaRig rig("", 10'000'000'000, test::CudaRig::BusWidth::narrow);
  std::atomic<int> right{0};
  const auto run = [&](unsigned seed) {
    std::mt19937 random(seed);
    ASSERT_TRUE(fakes::eventually([&] { return rig.context->make_current().ok(); }));
    for (int round = 0; round < kPipelines; ++round) {
      const uint32_t lanes = 1 + random() % 3;
      ServiceWishes wishes;
      wishes.spin = random() % 3 == 0;
      if (random() % 3 == 0) wishes.on_overload = OnOverload::degrade_others;
      Result<std::unique_ptr<Pipeline>> made = rig.open(lanes, {}, wishes);
      if (!made) {
        EXPECT_TRUE(is_refusal(made.error())) << made.error().message;
        continue;
      }
      Pipeline& pipeline = *made.value();
      std::vector<std::byte> memory(test::kFormat.bytes() * 2 * lanes);
      if (random() % 2 == 0) EXPECT_TRUE(rig.host->adopt(memory.data(), memory.size(), test::kFormat.bytes()));
      test::Told listener;
      if (lanes > 1 && random() % 2 == 0) EXPECT_TRUE(pipeline.notify(&listener));
      const auto view = [&](size_t slot) {
        return FrameView{memory.data() + slot * test::kFormat.bytes(), test::kFormat, MemoryKind::host};
      };
      const FrameMeta meta;
      for (int frame = 0; frame < kFrames; ++frame) {
        if (random() % 4 == 0) EXPECT_TRUE(pipeline.set_parameter("shift.value", 1));
        std::vector<bool> submitted(lanes);
        for (LaneIndex lane = 0; lane < lanes; ++lane) {
          const FrameView in = view(lane), out = view(lanes + lane);
          std::memset(in.data, frame + int(lane), test::kFormat.bytes());
          const Status status = pipeline.submit(lane, {{&in, 1}, {&out, 1}, &meta});
          submitted[lane] = status.ok();
          if (!status) EXPECT_TRUE(is_refusal(status.error())) << status.error().message;
        }
        for (LaneIndex lane = 0; lane < lanes; ++lane) {
          if (!submitted[lane]) continue;
          pipeline.wait_inputs(lane);
          const Completion completion = pipeline.wait(lane);
          if (!completion.status) {
            EXPECT_TRUE(is_refusal(completion.status.error())) << completion.status.error().message;
            continue;
          }
          const std::byte* const seen = view(lanes + lane).data;
          for (size_t i = 0; i < test::kFormat.bytes(); ++i)
            ASSERT_EQ(int(seen[i]), frame + int(lane) + 1) << "byte " << i << " of lane " << lane;
          ++right;
        }
      }
      made = Error{};
      rig.host->forget(memory.data());
    }
  };
  {
    const Trouble trouble(rig.fake,
                          {"cuMemAlloc",
                           "cuEventCreate",
                           "cuEventRecord",
                           "cuEventQuery",
                           "cuEventSynchronize",
                           "cuStreamWaitEvent",
                           "cuStreamCreateWithPriority",
                           "cuStreamGetId",
                           "cuMemcpyHtoDAsync",
                           "cuMemcpyDtoHAsync",
                           "cuGraphLaunch",
                           "cuStreamBeginCapture",
                           "cuStreamEndCapture",
                           "cuGraphInstantiate",
                           "cuGraphUpload",
                           "cuLaunchKernel",
                           "cuModuleLoadData",
                           "cuModuleGetFunction",
                           "cuMemHostRegister",
                           "cuPointerGetAttribute"},
                          11);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(run, i + 1);
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_GT(right.load(), 0);
  EXPECT_FALSE(rig.watch->lost());
}

}  // namespace
}  // namespace framelane::cuda
