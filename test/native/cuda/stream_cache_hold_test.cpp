// Blocks that a captured graph keeps.
#include <set>

#include "cache_fixture.h"

namespace framelane::cuda {
namespace {

class StreamCacheHold : public CacheTest {
 protected:
  // One "frame": two intermediates, of which the second may take the first one's place.
  [[nodiscard]] Status frame(StreamCache& stream, std::set<CUdeviceptr>& seen) {
    for (int stage = 0; stage < 2; ++stage) {
      const Result<CUdeviceptr> block = stream.allocate(kMiB);
      if (!block) return block.error();
      use(stream, block.value(), kMiB);
      seen.insert(block.value());
      if (Status released = stream.release(block.value()); !released) return released;
    }
    return {};
  }
  // The graph of one frame.
  [[nodiscard]] CUgraphExec capture(StreamCache& stream, HeldBlocks& held, std::set<CUdeviceptr>& seen) {
    EXPECT_TRUE(stream.begin_hold());
    EXPECT_EQ(driver.cuStreamBeginCapture(stream.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    const Status enqueued = frame(stream, seen);
    EXPECT_TRUE(enqueued) << enqueued.error().message;
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(stream.stream(), &graph), CUDA_SUCCESS);
    Result<HeldBlocks> ended = stream.end_hold();
    EXPECT_TRUE(ended) << ended.error().message;
    held = ended.take();
    CUgraphExec exec = nullptr;
    EXPECT_EQ(driver.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
    return exec;
  }
};

TEST_F(StreamCacheHold, KeepsTheGraphsBlocksFromEverybody) {
  open();
  const auto stream = open_stream(), other = open_stream("lens");
  std::set<CUdeviceptr> direct, captured;
  ASSERT_TRUE(frame(*stream, direct));
  EXPECT_EQ(direct.size(), 1U);
  HeldBlocks held;
  const CUgraphExec exec = capture(*stream, held, captured);
  EXPECT_EQ(captured, direct);  // within the hold it is handed out again
  EXPECT_EQ(held.buffers(), 1U);
  EXPECT_EQ(held.bytes(), kMiB);
  EXPECT_EQ(cache->statistics().bytes_in_use, kMiB);
  const CUdeviceptr mine = take(*stream, kMiB), theirs = take(*other, kMiB);
  EXPECT_FALSE(captured.contains(mine) || captured.contains(theirs));
  cache->trim_now();
  EXPECT_EQ(driver.cuGraphLaunch(exec, stream->stream()), CUDA_SUCCESS);
  use(*stream, mine, kMiB);
  use(*other, theirs, kMiB);
  give(*stream, mine);
  give(*other, theirs);
  // Replaced while it runs: others get its block only behind that.
  fake.pause(true);
  EXPECT_EQ(driver.cuGraphLaunch(exec, stream->stream()), CUDA_SUCCESS);
  ASSERT_TRUE(held.give_back(stream->stream()));
  EXPECT_EQ(held.buffers(), 0U);
  const CUdeviceptr second = take(*other, kMiB), third = take(*other, kMiB);
  EXPECT_FALSE(captured.contains(second) || captured.contains(third));
  fake.pause(false);
  wait(*stream);
  give(*other, second);
  give(*other, third);
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cache->statistics().bytes_in_use, 0U);
}

TEST_F(StreamCacheHold, GivesTheBlocksBackWhenItEnds) {
  open();
  const auto stream = open_stream();
  std::set<CUdeviceptr> captured;
  {
    HeldBlocks held;
    const CUgraphExec exec = capture(*stream, held, captured);  // from the arena: no call of the driver
    EXPECT_EQ(driver.cuGraphLaunch(exec, stream->stream()), CUDA_SUCCESS);
    wait(*stream);
    EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  }
  EXPECT_EQ(cache->statistics().bytes_in_use, 0U);
  EXPECT_TRUE(captured.contains(take(*stream, kMiB)));
  EXPECT_TRUE(cache->release(*captured.begin()));
}

TEST_F(StreamCacheHold, AsksTheDriverNothingAndSaysSo) {
  open({.reserve_bytes = 2 * kMiB});
  const auto stream = open_stream();
  ASSERT_TRUE(stream->begin_hold());
  EXPECT_FALSE(stream->begin_hold());
  const uint64_t calls = all_calls();
  const Result<CUdeviceptr> none = stream->allocate(8 * kMiB);
  EXPECT_EQ(all_calls(), calls);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::device_failed);
  EXPECT_NE(none.error().message.find("while a graph is captured"), std::string::npos) << none.error().message;
  const CUdeviceptr block = take(*stream, kMiB);
  give(*stream, take(*stream, kMiB / 2));
  stream->abort_hold();
  give(*stream, block);
  EXPECT_FALSE(stream->end_hold());
  EXPECT_EQ(cache->statistics().bytes_in_use, 0U);

  const size_t sizes[] = {8 * kMiB, 8 * kMiB};
  ASSERT_TRUE(stream->prepare(sizes));
  ASSERT_TRUE(stream->begin_hold());
  const uint64_t calls_before = all_calls();
  const CUdeviceptr one = take(*stream, 8 * kMiB), two = take(*stream, 8 * kMiB);
  EXPECT_EQ(all_calls(), calls_before);
  give(*stream, two);
  Result<HeldBlocks> held = stream->end_hold();
  ASSERT_TRUE(held);
  EXPECT_EQ(held.value().buffers(), 2U);
  give(*stream, one);  // after the hold: it stays with the graph
  EXPECT_FALSE(stream->release(one));
  EXPECT_EQ(cache->statistics().misuses, 1U);
  EXPECT_EQ(cache->statistics().bytes_in_use, held.value().bytes());
}

TEST_F(StreamCacheHold, TakesNoBlockWhoseFormerStreamIsStillAtWork) {
  open({.reserve_bytes = 2 * kMiB, .limits = {.max_bytes = 2 * kMiB, .max_buffers = 0}});
  auto first = open_stream("left");
  const auto second = open_stream("right");
  const CUdeviceptr block = take(*first, 2 * kMiB);
  fake.pause(true);
  use(*first, block, 2 * kMiB);
  give(*first, block);
  const CUstream stream = first->stream();
  first.reset();
  ASSERT_TRUE(second->begin_hold());
  EXPECT_FALSE(second->allocate(2 * kMiB));
  second->abort_hold();
  fake.pause(false);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  ASSERT_TRUE(second->begin_hold());
  EXPECT_EQ(take(*second, 2 * kMiB), block);
  EXPECT_TRUE(second->end_hold());
}

}  // namespace
}  // namespace framelane::cuda
