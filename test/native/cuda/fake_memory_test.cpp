// The fake's device memory: what it refuses, and the detectors use_after_free and given_twice.
#include "fake_fixture.h"

namespace framelane::cuda {
namespace {

class FakeMemory : public FakeTest {
 protected:
  // An arena of 4 blocks of 1024 bytes, as a device cache keeps it.
  void make_arena() { arena_ = make_memory(4096); }
  void give(int block, unsigned long long stream_id = 0) const {
    driver.annotate(arena_ + 1024U * block, 1024, BlockState::given, stream_id);
  }
  void take_back(int block) const { driver.annotate(arena_ + 1024U * block, 1024, BlockState::returned, 0); }
  [[nodiscard]] CUdeviceptr block(int index) const { return arena_ + 1024U * index; }

  CUdeviceptr arena_ = 0;
};

TEST_F(FakeMemory, RunsOutOfMemoryAndGetsItBack) {
  start("memory=1MiB");
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_EQ(driver.cuMemGetInfo(&free_bytes, &total_bytes), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, size_t{1} << 20);
  const CUdeviceptr most = make_memory(1000 << 10);
  CUdeviceptr more = 0;
  EXPECT_EQ(driver.cuMemAlloc(&more, 100 << 10), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuMemFree(most), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAlloc(&more, 100 << 10), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAlloc(&more, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FakeMemory, RefusesACopyBeyondTheEnd) {
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(100);
  unsigned char* const host = make_pinned(200);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, host, 101, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(0, host, 10, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, nullptr, 10, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, host, 100, stream), CUDA_SUCCESS);
}

TEST_F(FakeMemory, CopiesRowsWithPitch) {
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(64);
  unsigned char* const host = make_pinned(4096);
  for (int at = 0; at < 100; ++at) host[at] = static_cast<unsigned char>(at);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = 10;
  copy.srcXInBytes = 2;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.dstPitch = 8;
  copy.WidthInBytes = 5;
  copy.Height = 3;
  EXPECT_EQ(driver.cuMemcpy2DAsync(&copy, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  const auto* const bytes = static_cast<const unsigned char*>(fake.host_address(memory));
  EXPECT_EQ(bytes[0], 12);
  EXPECT_EQ(bytes[4], 16);
  EXPECT_EQ(bytes[16], 32);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeMemory, CatchesAKernelOnFreedMemory) {
  const CUstream stream = make_stream();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr in = make_memory(100), out = make_memory(100);
  EXPECT_EQ(launch_add(add, stream, out, in, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree(in), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  EXPECT_EQ(launch_add(add, stream, out, in, 1), CUDA_SUCCESS);
  EXPECT_EQ(detections("use_after_free"), 1U);
  EXPECT_NE(fake.report_text().find("the kernel add on stream "), std::string::npos) << fake.report_text();
}

TEST_F(FakeMemory, CatchesACopyWithFreedMemory) {
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(100);
  unsigned char* const host = make_pinned(100);
  EXPECT_EQ(driver.cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(host, memory, 100, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(detections("use_after_free"), 1U) << fake.report_text();
}

TEST_F(FakeMemory, CatchesAMemoryThatIsFreedTwice) {
  const CUdeviceptr memory = make_memory(100);
  EXPECT_EQ(driver.cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(detections("use_after_free"), 1U) << fake.report_text();
}

TEST_F(FakeMemory, CatchesAGraphOnFreedMemory) {
  const CUstream stream = make_stream();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr in = make_memory(100), out = make_memory(100);
  unsigned char* const host = make_pinned(100);
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(in, host, 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, stream, out, in, 1), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  EXPECT_EQ(driver.cuMemFree(out), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections("use_after_free"), 1U) << fake.report_text();
  EXPECT_EQ(driver.cuMemFreeHost(host), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections("use_after_free"), 3U) << fake.report_text();
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST_F(FakeMemory, CatchesAKernelOfAnUnloadedModule) {
  const CUstream stream = make_stream();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr in = make_memory(100), out = make_memory(100);
  fake.pause(true);
  EXPECT_EQ(launch_add(add, stream, out, in, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  fake.pause(false);
  EXPECT_EQ(detections("use_after_free"), 1U) << fake.report_text();
  EXPECT_EQ(launch_add(add, stream, out, in, 1), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(FakeMemory, TellsTheBlocksOfAnArenaApart) {
  const CUstream stream = make_stream();
  const CUfunction add = load_kernel("add");
  unsigned char* const host = make_pinned(4096);
  make_arena();
  give(0);
  give(1);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(block(0), host, 1024, stream), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, stream, block(1), block(0) + 256, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  fake_cuda::FakeLaunch launch;
  ASSERT_TRUE(fake.launch(0, &launch));
  EXPECT_EQ(launch.parameter[1].block, block(0));
  EXPECT_EQ(launch.parameter[1].block_bytes, 1024U);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();

  take_back(0);
  EXPECT_EQ(launch_add(add, stream, block(1), block(0), 1), CUDA_SUCCESS);
  EXPECT_EQ(detections("use_after_free"), 1U) << "a returned block";
  EXPECT_EQ(launch_add(add, stream, block(2), block(1), 1), CUDA_SUCCESS);
  EXPECT_EQ(detections("use_after_free"), 2U) << "a block that nobody was given";
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(block(1), host, 1025, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections("use_after_free"), 3U) << "a copy over the end of its block";
  give(0);
  EXPECT_EQ(launch_add(add, stream, block(1), block(0), 1), CUDA_SUCCESS);
  EXPECT_EQ(detections("use_after_free"), 3U) << "given again";
}

TEST_F(FakeMemory, CutsBlocksAnew) {
  const CUstream stream = make_stream();
  make_arena();
  driver.annotate(arena_, 4096, BlockState::given, 2);
  driver.annotate(arena_, 4096, BlockState::returned, 2);
  driver.annotate(arena_ + 512, 2048, BlockState::given, 2);
  EXPECT_EQ(driver.cuMemsetD8Async(arena_ + 512, 1, 2048, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  EXPECT_EQ(driver.cuMemsetD8Async(arena_ + 511, 1, 2, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8Async(arena_ + 2559, 1, 2, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections("use_after_free"), 2U) << fake.report_text();
}

TEST_F(FakeMemory, CatchesABlockThatIsGivenOrReturnedTwice) {
  make_arena();
  give(0);
  give(1);
  take_back(0);
  give(0);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  give(1);
  EXPECT_EQ(detections("given_twice"), 1U);
  driver.annotate(block(1) + 512, 1024, BlockState::given, 0);
  EXPECT_EQ(detections("given_twice"), 2U) << "it overlaps a block in use";
  take_back(3);
  EXPECT_EQ(detections("given_twice"), 3U);
  driver.annotate(arena_ + 4096, 16, BlockState::given, 0);
  EXPECT_EQ(detections("use_after_free"), 1U) << "outside of every allocation";
}

TEST_F(FakeMemory, CatchesAnArenaThatIsFreedWithBlocksInUse) {
  make_arena();
  give(0);
  give(1);
  take_back(0);
  EXPECT_EQ(driver.cuMemFree(arena_), CUDA_SUCCESS);
  EXPECT_EQ(detections("leak"), 1U) << fake.report_text();
}

TEST_F(FakeMemory, FreesOnlyWhenTheDeviceIsIdle) {
  const CUstream stream = make_stream();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr in = make_memory(100), out = make_memory(100);
  fake.apply("kernel=20000000");
  EXPECT_EQ(launch_add(add, stream, out, in, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree(in), CUDA_SUCCESS);
  EXPECT_EQ(fake.launches(), 1U);
  EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_SUCCESS);
}

TEST_F(FakeMemory, NamesWhatAPointerIs) {
  const CUdeviceptr memory = make_memory(100);
  unsigned char* const host = make_pinned(100);
  unsigned type = 0;
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 99), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  const auto host_address = reinterpret_cast<CUdeviceptr>(host);
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host_address), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 100),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace framelane::cuda
