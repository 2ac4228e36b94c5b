// A device cache on the fake CUDA driver. Whatever a test does, the fake's detectors saw no fault, and nothing is left.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cuda/device_cache.h"
#include "cuda/stream_cache.h"
#include "fake_fixture.h"
#include "fakes/eventually.h"
#include "native/cuda/sizes.h"

namespace framelane::cuda {

class CacheTest : public FakeTest {
 protected:
  ~CacheTest() override {
    cache.reset();
    EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
    EXPECT_EQ(fake.live("allocations"), 0U);
  }
  void open(DeviceCacheOptions options = {.reserve_bytes = 64 * kMiB}) {
    cache.reset();  // its trim thread would be taken for the new one's
    const uint64_t before = fake.calls("cuCtxSetCurrent");
    Result<std::unique_ptr<DeviceCache>> opened = DeviceCache::open(driver, context, options);
    ASSERT_TRUE(opened) << opened.error().message;
    cache = opened.take();
    // The trim thread's own: on a busy machine it would be counted among the calls of what a test does.
    ASSERT_TRUE(fakes::eventually([&] { return fake.calls("cuCtxSetCurrent") > before; }));
  }
  [[nodiscard]] std::unique_ptr<StreamCache> open_stream(const std::string& channel = "press") {
    return open_stream_on(make_stream(), channel);
  }
  [[nodiscard]] std::unique_ptr<StreamCache> open_stream_on(CUstream stream, const std::string& channel = "press") {
    Result<std::unique_ptr<StreamCache>> opened = cache->open_stream(stream, channel);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened.take();
  }
  [[nodiscard]] static CUdeviceptr take(StreamCache& stream, size_t bytes) {
    Result<CUdeviceptr> block = stream.allocate(bytes);
    EXPECT_TRUE(block) << block.error().message;
    return block ? block.value() : 0;
  }
  static void give(StreamCache& stream, CUdeviceptr block) {
    const Status released = stream.release(block);
    EXPECT_TRUE(released) << released.error().message;
  }
  // Work that writes all of a block. Asynchronous.
  void use(StreamCache& stream, CUdeviceptr block, size_t bytes) {
    EXPECT_EQ(driver.cuMemsetD8Async(block, 1, bytes, stream.stream()), CUDA_SUCCESS);
  }
  // A block that the device still works on when its stream is gone, which gives it up behind an event; until
  // fake.pause(false).
  CUdeviceptr leave_at_work(std::unique_ptr<StreamCache>& stream, size_t bytes) {
    const CUdeviceptr block = take(*stream, bytes);
    fake.pause(true);
    use(*stream, block, bytes);
    give(*stream, block);
    stream.reset();
    return block;
  }
  void wait(const StreamCache& stream) { EXPECT_EQ(driver.cuStreamSynchronize(stream.stream()), CUDA_SUCCESS); }
  [[nodiscard]] uint64_t all_calls() const { return fake.calls(nullptr); }

  std::unique_ptr<DeviceCache> cache;
};

}  // namespace framelane::cuda
