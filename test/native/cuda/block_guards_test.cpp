// Debug mode of the device cache.
#include "cache_fixture.h"

namespace framelane::cuda {
namespace {

class BlockGuardsTest : public CacheTest {
 protected:
  BlockGuardsTest() { open({.reserve_bytes = 16 * kMiB, .debug = true}); }
  void write(StreamCache& stream, CUdeviceptr at, size_t bytes) {
    EXPECT_EQ(driver.cuMemsetD8Async(at, 7, bytes, stream.stream()), CUDA_SUCCESS);
  }
};

TEST_F(BlockGuardsTest, SaysNothingOfGoodUse) {
  const auto stream = open_stream();
  for (int frame = 0; frame < 5; ++frame) {
    for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{70'001}, kMiB}) {
      const CUdeviceptr block = take(*stream, bytes);
      EXPECT_EQ(block % kBlockAlignment, 0U);
      write(*stream, block, bytes);
      give(*stream, block);
    }
  }
  EXPECT_EQ(cache->statistics().misuses, 0U);
}

TEST_F(BlockGuardsTest, SeesAByteWrittenOutside) {
  const auto stream = open_stream();
  const CUdeviceptr block = take(*stream, 1000);
  write(*stream, block, 1001);
  const Status past = stream->release(block);
  ASSERT_FALSE(past);
  EXPECT_NE(past.error().message.find("channel 'press': a block of 1000 bytes was written 1 bytes past its end"),
            std::string::npos)
      << past.error().message;
  const CUdeviceptr again = take(*stream, 1000);
  write(*stream, again - 3, 10);
  const Status before = stream->release(again);
  ASSERT_FALSE(before);
  EXPECT_NE(before.error().message.find("3 bytes before its start"), std::string::npos) << before.error().message;
  EXPECT_EQ(cache->statistics().misuses, 2U);
  EXPECT_FALSE(stream->release(again));
}

TEST_F(BlockGuardsTest, SeesAByteWrittenAfterTheRelease) {
  const auto stream = open_stream();
  const CUdeviceptr block = take(*stream, 1000);
  give(*stream, block);
  write(*stream, block + 10, 1);
  const Result<CUdeviceptr> again = stream->allocate(1000);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("after its release"), std::string::npos) << again.error().message;
  EXPECT_EQ(detections("use_after_free"), 1U);  // the fake saw it too
  fake.clear_detections();
  give(*stream, take(*stream, 1000));
}

TEST_F(BlockGuardsTest, PutsNothingIntoACapturedGraph) {
  const auto stream = open_stream();
  give(*stream, take(*stream, 1000));
  ASSERT_TRUE(stream->begin_hold());
  const uint64_t calls = all_calls();
  const CUdeviceptr block = take(*stream, 1000);
  give(*stream, block);
  EXPECT_EQ(all_calls(), calls);
  {
    Result<HeldBlocks> held = stream->end_hold();
    ASSERT_TRUE(held);
  }
  give(*stream, take(*stream, 1000));
}

}  // namespace
}  // namespace framelane::cuda
