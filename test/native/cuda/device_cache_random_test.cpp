// Several threads, each with its stream, take and give back at random while a trim thread, another thread's releases
// and changing bounds come between: no block ever has two owners, and the sums hold.
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "cache_fixture.h"

namespace framelane::cuda {
namespace {

constexpr int kThreads = 4, kSteps = 1500;

// Thread-safety: any thread.
class Owners {
 public:
  void taken(CUdeviceptr begin, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto next = ranges_.lower_bound(begin);
    EXPECT_TRUE(next == ranges_.end() || next->first >= begin + bytes) << "two owners";
    EXPECT_TRUE(next == ranges_.begin() || std::prev(next)->second <= begin) << "two owners";
    ranges_[begin] = begin + bytes;
  }
  void given(CUdeviceptr begin) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(ranges_.erase(begin), 1U);
  }

 private:
  std::mutex mutex_;
  std::map<CUdeviceptr, CUdeviceptr> ranges_;
};

class DeviceCacheRandom : public CacheTest {
 protected:
  // Thread-safety: one thread's.
  struct Walk {
    std::mt19937 random;
    std::unique_ptr<StreamCache> memory;
    std::vector<std::pair<CUdeviceptr, size_t>> mine;
    std::vector<HeldBlocks> graphs;
  };

  void take_one(Walk& walk) {
    const size_t bytes = size_t{1} << (8 + walk.random() % 12);
    const Result<CUdeviceptr> block = walk.memory->allocate(bytes);
    if (!block) {
      const ErrorCode code = block.error().code;
      EXPECT_TRUE(code == ErrorCode::out_of_memory || code == ErrorCode::over_limit) << block.error().message;
      ++refused;
      return;
    }
    owners.taken(block.value(), bytes);
    use(*walk.memory, block.value(), bytes);
    walk.mine.emplace_back(block.value(), bytes);
  }
  void give_one(Walk& walk) {
    const size_t at = walk.random() % walk.mine.size();
    const CUdeviceptr block = walk.mine[at].first;
    walk.mine[at] = walk.mine.back();
    walk.mine.pop_back();
    owners.given(block);
    const Status released = walk.random() % 8 == 0 ? cache->release(block) : walk.memory->release(block);
    EXPECT_TRUE(released) << released.error().message;
  }
  // What a capture takes stays away from everybody until it is given back.
  void hold_some(Walk& walk) {
    ASSERT_TRUE(walk.memory->begin_hold());
    const Result<CUdeviceptr> block = walk.memory->allocate(4096);
    if (block) {
      owners.taken(block.value(), 4096);
      EXPECT_TRUE(walk.memory->release(block.value()));
    } else {
      ++refused;
    }
    if (block && walk.random() % 2 == 0) {
      owners.given(block.value());
      walk.memory->abort_hold();
      return;
    }
    Result<HeldBlocks> held = walk.memory->end_hold();
    ASSERT_TRUE(held);
    if (block) owners.given(block.value());
    EXPECT_TRUE(held.value().give_back(walk.memory->stream()));
  }
  void run(int index) {
    ASSERT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    Walk walk;
    walk.random.seed(static_cast<unsigned>(index) + 1);
    const std::string channel = index % 2 == 0 ? "even" : "odd";
    CUstream stream = make_stream();
    walk.memory = open_stream_on(stream, channel);
    for (int step = 0; step < kSteps; ++step) {
      const unsigned what = walk.random() % 100;
      if (what == 0 && walk.mine.empty()) {
        walk.memory.reset();
        EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
        stream = make_stream();
        walk.memory = open_stream_on(stream, channel);
      } else if (what == 1) {
        hold_some(walk);
      } else if (what == 2) {
        cache->trim_now();
      } else if (what < 50 || walk.mine.empty()) {
        take_one(walk);
      } else {
        give_one(walk);
      }
    }
    while (!walk.mine.empty()) give_one(walk);
    walk.memory.reset();
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
  }

  Owners owners;
  std::atomic<uint64_t> refused{0};
};

TEST_F(DeviceCacheRandom, GivesNoBlockToTwoOwners) {
  open({.reserve_bytes = 2 * kMiB, .limits = {.max_bytes = 6 * kMiB, .max_buffers = 0}, .trim_after_ns = 1'000'000});
  std::atomic<bool> ended{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { run(i); });
  std::thread changing([&] {
    std::mt19937 random(99);
    while (!ended) {
      cache->set_limits({.max_bytes = (2 + random() % 5) * kMiB, .max_buffers = random() % 2 * 200});
      cache->set_channel_limits("odd", {.max_bytes = (1 + random() % 4) * kMiB, .max_buffers = 0});
      const DeviceCacheStatistics seen = cache->statistics();
      EXPECT_LE(seen.bytes_in_use, seen.bytes_high_water);
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  ended = true;
  changing.join();
  cache->trim_now();
  const DeviceCacheStatistics seen = cache->statistics();
  EXPECT_EQ(seen.bytes_in_use, 0U);
  EXPECT_EQ(seen.bytes_cached, 0U);
  EXPECT_EQ(seen.buffers, 0U);
  EXPECT_EQ(seen.misuses, 0U);
  EXPECT_EQ(seen.failures, refused.load());
  EXPECT_GT(seen.hits, 0U);
  for (const ChannelMemory& channel : cache->channels()) EXPECT_EQ(channel.bytes + channel.buffers, 0U);
}

}  // namespace
}  // namespace framelane::cuda
