#include "cuda/device_cache.h"

#include <set>
#include <thread>

#include "cache_fixture.h"

namespace framelane::cuda {
namespace {

class DeviceCacheTest : public CacheTest {};

TEST_F(DeviceCacheTest, ServesAStreamAgainWithoutACallOfTheDriver) {
  open();
  const auto stream = open_stream();
  const size_t sizes[] = {100, 3'000'000, 100, 5'000, 700'000};
  std::set<CUdeviceptr> first;
  for (int frame = 0; frame < 50; ++frame) {
    const uint64_t calls = all_calls();
    std::set<CUdeviceptr> blocks;
    for (const size_t bytes : sizes) blocks.insert(take(*stream, bytes));
    EXPECT_EQ(blocks.size(), std::size(sizes));
    for (const CUdeviceptr block : blocks) give(*stream, block);
    if (frame == 0) {
      first = blocks;
      cache->mark_steady();
      continue;
    }
    EXPECT_EQ(blocks, first);
    EXPECT_EQ(all_calls(), calls);
  }
  const DeviceCacheStatistics seen = cache->statistics();
  EXPECT_EQ(seen.misses, 5U);
  EXPECT_EQ(seen.hits, 49U * 5);
  EXPECT_EQ(seen.bytes_in_use, 0U);
  EXPECT_GE(seen.bytes_cached, 3'705'200U);
  EXPECT_EQ(seen.buffers, 5U);
  EXPECT_EQ(seen.bytes_reserved, 64 * kMiB);
  EXPECT_EQ(seen.driver_allocations, 1U);
  EXPECT_EQ(seen.steady_allocations + seen.steady_frees, 0U);
}

TEST_F(DeviceCacheTest, GivesABlockToAnotherStreamOnlyBehindItsWork) {
  open();
  auto first = open_stream("left");
  const auto second = open_stream("right");
  const CUstream stream = first->stream();
  const CUdeviceptr block = leave_at_work(first, kMiB);
  cache->set_limits({.max_bytes = 0, .max_buffers = 1});  // nothing but that block is to be had
  const CUdeviceptr again = take(*second, kMiB);
  EXPECT_EQ(again, block);
  EXPECT_EQ(cache->statistics().event_waits, 1U);
  use(*second, again, kMiB);
  fake.pause(false);
  wait(*second);
  give(*second, again);
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(DeviceCacheTest, PrefersFreshMemoryToWaitingForAnotherStream) {
  open();
  auto first = open_stream("left");
  const auto second = open_stream("right");
  const CUdeviceptr block = leave_at_work(first, kMiB);
  const CUdeviceptr other = take(*second, kMiB);
  EXPECT_NE(other, block);
  EXPECT_EQ(cache->statistics().event_waits, 0U);
  fake.pause(false);
  give(*second, other);
}

TEST_F(DeviceCacheTest, KnowsAStreamByItsIdAndNotByItsHandle) {
  open({.reserve_bytes = 4 * kMiB, .limits = {.max_bytes = 4 * kMiB, .max_buffers = 0}});
  auto first = open_stream();
  const CUstream handle = first->stream();
  const CUdeviceptr block = leave_at_work(first, 3 * kMiB);
  EXPECT_EQ(driver.cuStreamDestroy(handle), CUDA_SUCCESS);
  const auto second = open_stream();  // perhaps with the same handle, never with the same id
  const CUdeviceptr again = take(*second, 3 * kMiB);
  EXPECT_EQ(again, block);
  EXPECT_EQ(cache->statistics().event_waits, 1U);
  use(*second, again, 3 * kMiB);
  fake.pause(false);
  wait(*second);
  give(*second, again);
}

TEST_F(DeviceCacheTest, GrowsByChunksUpToTheBound) {
  open({.reserve_bytes = 4 * kMiB, .limits = {.max_bytes = 16 * kMiB, .max_buffers = 0}});
  const auto stream = open_stream();
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(take(*stream, 4 * kMiB));
  EXPECT_LE(cache->statistics().bytes_reserved, 18 * kMiB);
  EXPECT_EQ(cache->statistics().driver_allocations, 2U);
  const Result<CUdeviceptr> none = stream->allocate(kMiB);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(none.error().message.find("channel 'press' gets no 1.0 MiB"), std::string::npos) << none.error().message;
  EXPECT_NE(none.error().message.find("16.0 MiB of at most 16.0 MiB"), std::string::npos) << none.error().message;
  EXPECT_EQ(cache->statistics().failures, 1U);
  for (const CUdeviceptr block : blocks) give(*stream, block);
}

// Other programs may have the GPU's memory: then no bound of ours is the reason.
TEST_F(DeviceCacheTest, SaysWhenTheDriverGivesNoMore) {
  open({.reserve_bytes = 0, .limits = {.max_bytes = 64 * kMiB, .max_buffers = 0}});
  const auto stream = open_stream();
  fake.fail("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY, 0);
  const Result<CUdeviceptr> none = stream->allocate(5000);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("gets no 5.0 KiB"), std::string::npos) << none.error().message;
  EXPECT_NE(none.error().message.find("which gives no more"), std::string::npos) << none.error().message;
  const Result<CUdeviceptr> beyond = stream->allocate(65 * kMiB);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message.find("which gives no more"), std::string::npos) << beyond.error().message;
}

TEST_F(DeviceCacheTest, NamesWhoHoldsTheMemory) {
  start("memory=32MiB");
  open({.reserve_bytes = 32 * kMiB});
  const auto big = open_stream("film"), small = open_stream("press"), asking = open_stream("lens");
  const CUdeviceptr most = take(*big, 24 * kMiB), some = take(*small, 4 * kMiB);
  const Result<CUdeviceptr> none = asking->allocate(8 * kMiB);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(none.error().message.find("'film' (24.0 MiB in 1 buffers), 'press' (4.0 MiB in 1 buffers)"),
            std::string::npos)
      << none.error().message;
  give(*big, most);
  give(*small, some);
}

TEST_F(DeviceCacheTest, TakesWhatNobodyNeedsBeforeItGivesUp) {
  start("memory=32MiB");
  // As many looks as it takes: a busy machine is late to say that the stream is done.
  open({.reserve_bytes = 32 * kMiB, .trim_after_ns = 3'600'000'000'000, .reclaim_looks = UINT32_MAX});
  const auto stream = open_stream();
  const CUdeviceptr large = take(*stream, 20 * kMiB);
  use(*stream, large, 64);
  give(*stream, large);
  wait(*stream);
  const CUdeviceptr other = take(*stream, 24 * kMiB);  // joined from the former one and its neighbour
  use(*stream, other, 64);
  wait(*stream);
  give(*stream, other);
  EXPECT_EQ(cache->statistics().failures, 0U);
}

TEST_F(DeviceCacheTest, LeavesAnotherChannelWhatItNeeds) {
  start("memory=32MiB");
  open({.reserve_bytes = 32 * kMiB, .trim_after_ns = 3'600'000'000'000});
  const auto busy = open_stream("busy"), greedy = open_stream("greedy");
  give(*busy, take(*busy, 20 * kMiB));
  EXPECT_FALSE(greedy->allocate(20 * kMiB));
  const uint64_t misses = cache->statistics().misses;
  give(*busy, take(*busy, 20 * kMiB));
  EXPECT_EQ(cache->statistics().misses, misses);
}

TEST_F(DeviceCacheTest, BoundsAChannelOverAllItsStreams) {
  open();
  cache->set_channel_limits("press", {.max_bytes = 0, .max_buffers = 3});
  const auto one = open_stream("press"), two = open_stream("press"), other = open_stream("lens");
  const CUdeviceptr a = take(*one, kMiB), b = take(*two, kMiB), c = take(*two, kMiB);
  const Result<CUdeviceptr> none = one->allocate(kMiB);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::over_limit);
  EXPECT_NE(none.error().message.find("in 3 of at most 3 buffers"), std::string::npos) << none.error().message;
  const CUdeviceptr d = take(*other, kMiB);
  cache->set_channel_limits("press", {.max_bytes = 0, .max_buffers = 4});
  const CUdeviceptr e = take(*one, kMiB);
  for (const CUdeviceptr block : {a, e}) give(*one, block);
  for (const CUdeviceptr block : {b, c}) give(*two, block);
  give(*other, d);
  // Its own free blocks of another size make room.
  give(*one, take(*one, 2 * kMiB));
  for (const ChannelMemory& channel : cache->channels()) EXPECT_LE(channel.buffers, 4U) << channel.channel;
}

TEST_F(DeviceCacheTest, TrimsToALoweredBoundInTheBackground) {
  open({.reserve_bytes = 8 * kMiB, .trim_after_ns = 3'600'000'000'000});
  const auto stream = open_stream();
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(take(*stream, kMiB));
  for (const CUdeviceptr block : blocks) give(*stream, block);
  EXPECT_EQ(cache->statistics().buffers, 40U);
  cache->set_limits({.max_bytes = 16 * kMiB, .max_buffers = 10});
  while (cache->statistics().buffers > 10) std::this_thread::yield();
  cache->set_limits({.max_bytes = 4 * kMiB, .max_buffers = 10});
  while (cache->statistics().bytes_reserved > 8 * kMiB || cache->statistics().bytes_cached > 4 * kMiB)
    std::this_thread::yield();
  EXPECT_GE(cache->statistics().driver_frees, 1U);
}

TEST_F(DeviceCacheTest, GivesBackWhatIsUnusedForAWhile) {
  open({.reserve_bytes = 8 * kMiB, .trim_after_ns = 2'000'000});
  const auto stream = open_stream();
  give(*stream, take(*stream, 48 * kMiB));
  give(*stream, take(*stream, kMiB));
  while (cache->statistics().buffers > 0 || cache->statistics().bytes_reserved > 8 * kMiB) std::this_thread::yield();
  EXPECT_EQ(cache->statistics().bytes_reserved, 8 * kMiB);
  EXPECT_GT(cache->statistics().trims, 0U);
  give(*stream, take(*stream, kMiB));
}

TEST_F(DeviceCacheTest, RefusesWhatIsReleasedTwiceOrNotItsOwn) {
  open();
  const auto one = open_stream("left"), two = open_stream("right");
  const CUdeviceptr block = take(*one, kMiB), kept = take(*one, kMiB);
  give(*one, block);
  EXPECT_FALSE(one->release(block));
  EXPECT_FALSE(cache->release(block));
  const Status foreign = two->release(kept);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("belongs to a stream of channel 'left', not to one of 'right'"),
            std::string::npos)
      << foreign.error().message;
  EXPECT_FALSE(one->release(kept + 512));
  EXPECT_FALSE(one->release(0));
  EXPECT_EQ(cache->statistics().misuses, 5U);
  give(*one, kept);
}

TEST_F(DeviceCacheTest, TakesABlockBackFromAnyThread) {
  open();
  auto stream = open_stream();
  const CUdeviceptr block = take(*stream, kMiB);
  std::thread([&] { EXPECT_TRUE(cache->release(block)); }).join();
  EXPECT_EQ(take(*stream, kMiB), block);
  EXPECT_EQ(cache->statistics().bytes_in_use, kMiB);
  stream.reset();  // while the block is in use
  EXPECT_EQ(cache->statistics().bytes_in_use, kMiB);
  EXPECT_TRUE(cache->release(block));
  EXPECT_FALSE(cache->release(block));
  EXPECT_EQ(cache->statistics().bytes_in_use, 0U);
  for (const ChannelMemory& channel : cache->channels()) EXPECT_EQ(channel.bytes, 0U) << channel.channel;
}

// Neither an event nor a wait says when the stream has done with it.
TEST_F(DeviceCacheTest, KeepsFromEverybodyWhatMayStillBeInUse) {
  open();
  auto stream = open_stream(), other = open_stream("other");
  const CUdeviceptr block = take(*stream, kMiB);
  fake.pause(true);
  use(*stream, block, kMiB);
  fake.fail("cuEventRecord", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 1);
  fake.fail("cuStreamSynchronize", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 1);
  stream.reset();
  EXPECT_TRUE(cache->release(block));
  const CUdeviceptr another = take(*other, kMiB);
  EXPECT_NE(another, block);
  use(*other, another, kMiB);
  give(*other, another);
  fake.pause(false);
  EXPECT_EQ(cache->statistics().bytes_in_use, kMiB);
  other.reset();
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  cache.reset();
  EXPECT_EQ(detections(nullptr), detections("leak")) << fake.report_text();
  fake.clear_detections();
}

TEST_F(DeviceCacheTest, GivesNobodyWhatTheDriverMayHaveTakenBack) {
  open();
  auto stream = open_stream();
  for (int round = 0; round < 2; ++round) {
    const CUdeviceptr block = take(*stream, 70 * kMiB);
    use(*stream, block, 70 * kMiB);
    give(*stream, block);
    wait(*stream);
    fake.fail("cuMemFree", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 1);
    EXPECT_TRUE(fakes::eventually([&] {
      cache->trim_now();
      return cache->statistics().bytes_reserved == 64 * kMiB;
    }));
  }
}

TEST_F(DeviceCacheTest, SurvivesEachFailingCall) {
  for (const char* function : {"cuMemAlloc", "cuEventRecord", "cuEventCreate", "cuEventQuery", "cuStreamWaitEvent",
                               "cuStreamGetId", "cuMemFree"}) {
    for (uint64_t kth = 1; kth <= 4; ++kth) {
      start("");
      fake.fail(function, kth, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 1);
      Result<std::unique_ptr<DeviceCache>> opened = DeviceCache::open(driver, context, {.reserve_bytes = 4 * kMiB});
      if (!opened) {
        EXPECT_EQ(opened.error().code, ErrorCode::device_failed);
        continue;
      }
      cache = opened.take();
      for (int round = 0; round < 3; ++round) {
        Result<std::unique_ptr<StreamCache>> stream = cache->open_stream(make_stream(), "press");
        if (!stream) continue;
        for (const size_t bytes : {kMiB, 3 * kMiB, 70 * kMiB}) {
          const Result<CUdeviceptr> block = stream.value()->allocate(bytes);
          if (!block) continue;
          use(*stream.value(), block.value(), bytes);
          give(*stream.value(), block.value());
        }
        cache->trim_now();
      }
      EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
      cache->trim_now();
      const DeviceCacheStatistics seen = cache->statistics();
      EXPECT_LE(seen.bytes_cached + seen.bytes_in_use, seen.bytes_reserved);
      fake.fail(function, 1, CUDA_SUCCESS, 1);
      cache.reset();
      EXPECT_EQ(fake.live("allocations"), 0U) << function << " " << kth;
      EXPECT_EQ(fake.live("events"), 0U) << function << " " << kth;
    }
  }
}

}  // namespace
}  // namespace framelane::cuda
