// The GPUs that a driver shows, and their contexts.
#include "cuda/gpu.h"

#include <gtest/gtest.h>

#include <set>

#include "cuda/context.h"
#include "native/cuda/fake_fixture.h"

namespace framelane::cuda {
namespace {

class GpuTest : public FakeTest {};

TEST_F(GpuTest, EachIsListedWithWhatTellsItApart) {
  for (const size_t count : {1U, 2U, 8U}) {
    start(("devices=" + std::to_string(count) + ",memory=64MiB,sm=86,numa=1").c_str());
    const Result<std::vector<Gpu>> gpus = list_gpus(driver);
    ASSERT_TRUE(gpus.ok());
    ASSERT_EQ(gpus.value().size(), count);
    std::set<std::string> uuids, buses;
    for (size_t i = 0; i < count; ++i) {
      const DeviceInfo& info = gpus.value()[i].info;
      EXPECT_EQ(info.id, "cuda:" + std::to_string(i));
      EXPECT_EQ(info.memory_bytes, uint64_t{64} << 20);
      EXPECT_EQ(info.architecture, "sm_86");
      EXPECT_EQ(info.numa_node, 1);
      EXPECT_EQ(info.driver, "13.0");
      EXPECT_GT(info.cores, 0U);
      EXPECT_FALSE(info.name.empty());
      EXPECT_EQ(info.uuid.size(), std::string("GPU-").size() + 36);
      uuids.insert(info.uuid);
      buses.insert(info.bus_id);
      EXPECT_EQ(gpus.value()[i].capability, 86);
    }
    EXPECT_EQ(uuids.size(), count);
    EXPECT_EQ(buses.size(), count);
  }
}

TEST_F(GpuTest, IsFoundByNumberByUuidAndByItsBeginning) {
  start("devices=8");
  const Result<std::vector<Gpu>> gpus = list_gpus(driver);
  ASSERT_TRUE(gpus.ok());
  for (const Gpu& gpu : gpus.value()) {
    EXPECT_EQ(find_gpu(driver, gpu.info.id).value().handle, gpu.handle);
    EXPECT_EQ(find_gpu(driver, "cuda:" + gpu.info.uuid).value().handle, gpu.handle);
    // As few characters as tell it apart.
    size_t shared = 0;
    for (const Gpu& other : gpus.value()) {
      if (other.handle == gpu.handle) continue;
      size_t same = 0;
      while (other.info.uuid[same] == gpu.info.uuid[same]) ++same;
      shared = std::max(shared, same);
    }
    EXPECT_EQ(find_gpu(driver, "cuda:" + gpu.info.uuid.substr(0, shared + 1)).value().handle, gpu.handle);
    EXPECT_EQ(find_gpu(driver, "cuda:" + gpu.info.uuid.substr(0, shared)).error().code, ErrorCode::unsupported);
  }
}

TEST_F(GpuTest, OneThatIsNotThereIsRefusedWithThoseThatAre) {
  start("devices=2");
  for (const char* const id : {"cuda:2", "cuda:-1", "cuda:", "cuda:GPU-0123-nobody", "cpu"}) {
    const Result<Gpu> found = find_gpu(driver, id);
    ASSERT_FALSE(found.ok()) << id;
    EXPECT_EQ(found.error().code, ErrorCode::unsupported);
    EXPECT_NE(found.error().message.find("cuda:1 (GPU-"), std::string::npos) << found.error().message;
  }
}

TEST_F(GpuTest, AQuestionThatTheDriverRefusesIsAnError) {
  for (const char* const call :
       {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceTotalMem"}) {
    start("devices=2");
    fake.fail(call, 1, CUDA_ERROR_INVALID_VALUE, 1);
    const Result<std::vector<Gpu>> gpus = list_gpus(driver);
    ASSERT_FALSE(gpus.ok()) << call;
    EXPECT_NE(gpus.error().message.find(call), std::string::npos);
  }
}

TEST_F(GpuTest, ItsContextIsMadeCurrentOncePerThread) {
  start("devices=2");
  const uint64_t contexts = fake.live("contexts");
  {
    const Result<Gpu> gpu = find_gpu(driver, "cuda:1");
    ASSERT_TRUE(gpu.ok());
    const Result<std::unique_ptr<Context>> opened = Context::open(driver, gpu.value());
    ASSERT_TRUE(opened.ok());
    const uint64_t calls = driver.cuCtxSetCurrent.calls();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(opened.value()->make_current().ok());
    EXPECT_EQ(driver.cuCtxSetCurrent.calls(), calls + 1);
    CUcontext current = nullptr;
    EXPECT_EQ(driver.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, opened.value()->handle());
  }
  EXPECT_EQ(fake.live("contexts"), contexts);
}

TEST_F(GpuTest, AContextThatCannotBeOpenedLeavesNothing) {
  start("");
  const Result<Gpu> gpu = find_gpu(driver, "cuda:0");
  ASSERT_TRUE(gpu.ok());
  const uint64_t contexts = fake.live("contexts");
  for (const char* const call : {"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxRetain"}) {
    fake.fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY, 1);
    EXPECT_FALSE(Context::open(driver, gpu.value()).ok()) << call;
    EXPECT_EQ(fake.live("contexts"), contexts);
  }
}

}  // namespace
}  // namespace framelane::cuda
