// The faults that the fake can be given.
#include <chrono>
#include <fstream>
#include <thread>

#include "fake_fixture.h"

namespace framelane::cuda {
namespace {

class FakeFault : public FakeTest {};

TEST_F(FakeFault, FailsTheCallThatIsAskedFor) {
  CUdeviceptr memory = 0;
  fake.fail("cuMemAlloc", 3, CUDA_ERROR_OUT_OF_MEMORY, 2);
  const CUresult wanted[] = {CUDA_SUCCESS, CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY,
                             CUDA_SUCCESS};
  for (const CUresult result : wanted) EXPECT_EQ(driver.cuMemAlloc(&memory, 100), result);
  EXPECT_EQ(fake.calls("cuMemAlloc"), 5U);
  EXPECT_EQ(fake.live("allocations"), 3U);
  fake.fail("cuMemAlloc", 1, CUDA_ERROR_UNKNOWN, 0);
  for (int at = 0; at < 5; ++at) EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_ERROR_UNKNOWN);
}

// How a test lets each driver call of something fail in turn: until none has failed any more.
TEST_F(FakeFault, FailsAnyCallByItsNumber) {
  std::vector<std::string> failed;
  for (uint64_t kth = 1;; ++kth) {
    start("");
    fake.fail(nullptr, kth, CUDA_ERROR_OUT_OF_MEMORY, 1);
    CUdeviceptr memory = 0;
    CUevent event = nullptr;
    if (driver.cuMemAlloc(&memory, 100) == CUDA_SUCCESS) static_cast<void>(driver.cuMemFree(memory));
    if (driver.cuEventCreate(&event, 0) == CUDA_SUCCESS) static_cast<void>(driver.cuEventDestroy(event));
    static_cast<void>(driver.error("a call", CUDA_ERROR_OUT_OF_MEMORY));
    if (fake.last_failed() == nullptr) break;
    failed.emplace_back(fake.last_failed());
    EXPECT_EQ(fake.live("allocations") + fake.live("events"), 0U) << failed.back();
  }
  EXPECT_EQ(failed, (std::vector<std::string>{"cuMemAlloc", "cuMemFree", "cuEventCreate", "cuEventDestroy"}));
}

// So that a test which lets every call fail can still ask for leaks.
TEST_F(FakeFault, GivesBackAlsoWhereItFails) {
  const CUstream stream = make_stream();
  const CUevent event = make_event();
  const CUdeviceptr memory = make_memory(100);
  unsigned char* const pinned = make_pinned(100);
  static_cast<void>(load_kernel("add"));
  for (const char* function : {"cuStreamDestroy", "cuEventDestroy", "cuMemFree", "cuMemFreeHost", "cuModuleUnload",
                               "cuDevicePrimaryCtxRelease"})
    fake.fail(function, 1, CUDA_ERROR_UNKNOWN, 0);
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver.cuEventDestroy(event), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver.cuMemFree(memory), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(fake.check_leaks(), 0U) << fake.report_text();
}

TEST_F(FakeFault, MakesAFunctionSlow) {
  const CUstream stream = make_stream();
  fake.delay("cuStreamQuery", 20'000'000);
  const auto start_time = std::chrono::steady_clock::now();
  EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_SUCCESS);
  EXPECT_GE(std::chrono::steady_clock::now() - start_time, std::chrono::milliseconds(20));
}

TEST_F(FakeFault, HoldsAKernelThatNeverEnds) {
  const CUstream stream = make_stream(), other = make_stream();
  const CUevent event = make_event();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr a = make_memory(100), b = make_memory(100), c = make_memory(100);
  fake.hang("add", 2);
  EXPECT_EQ(launch_add(add, stream, a, b, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, stream, a, b, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8Async(c, 1, 100, other), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(other), CUDA_SUCCESS) << "other streams go on";
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(fake.launches(), 1U);
  fake.release_hangs();
  EXPECT_EQ(driver.cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(fake.launches(), 2U);
  fake.hang(nullptr, 1);
  EXPECT_EQ(launch_add(add, stream, a, b, 1), CUDA_SUCCESS);
  // The fixture's reset ends it.
}

TEST_F(FakeFault, APoisonedProcessStaysPoisoned) {
  start("devices=2");
  const CUstream stream = make_stream();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr memory = make_memory(100);
  fake.poison_kernel("add", 2);
  EXPECT_EQ(launch_add(add, stream, memory, memory, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, stream, memory, memory, 1), CUDA_SUCCESS) << "it faults later, on the device";
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr more = 0;
  EXPECT_EQ(driver.cuMemAlloc(&more, 100), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext second = nullptr;
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&second, 1), CUDA_ERROR_ILLEGAL_ADDRESS) << "of the other device too";
  EXPECT_EQ(driver.cuCtxCreate(&second, 0, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(driver.cuMemFree(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  int count = 0;
  EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(fake.live("streams"), 0U);
}

TEST_F(FakeFault, PoisonComesWithACallOrAtOnce) {
  const CUstream stream = make_stream();
  fake.poison("cuStreamQuery", 2);
  EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  start("");
  const CUstream next = make_stream();
  fake.poison(nullptr, 0);
  EXPECT_EQ(driver.cuStreamSynchronize(next), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Threads that wait for a device that faults come back.
TEST_F(FakeFault, PoisonEndsAWait) {
  const CUstream stream = make_stream();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr memory = make_memory(100);
  fake.hang(nullptr, 1);
  EXPECT_EQ(launch_add(add, stream, memory, memory, 1), CUDA_SUCCESS);
  std::thread waiting([&] {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  while (fake.calls("cuStreamSynchronize") == 0) std::this_thread::yield();
  fake.poison(nullptr, 0);
  waiting.join();
}

TEST_F(FakeFault, LosesOneDevice) {
  start("devices=2");
  const CUstream stream = make_stream();
  CUcontext second = nullptr;
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
  fake.lose_device(0, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_UNKNOWN);
  CUdeviceptr memory = 0;
  EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver.cuCtxSetCurrent(second), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
}

TEST_F(FakeFault, TakesFaultsAsText) {
  start("fail=cuMemAlloc:2:2:1,delay=cuStreamQuery:1000,hang=add:9,poison=cuEventQuery:2,memory=2MiB");
  CUdeviceptr memory = 0;
  EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
  const CUevent event = make_event();
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(FakeFault, ReadsItsControlFileWhileRunning) {
  const std::string path = ::testing::TempDir() + "fake_control_" + std::to_string(getpid());
  start(("control=" + path).c_str());
  const CUstream stream = make_stream();
  EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_SUCCESS);
  // Moved there whole, as whoever writes it must.
  std::ofstream(path + ".new") << "lose=0:999\n";
  ASSERT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
  EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_ERROR_UNKNOWN);
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "it has been taken away";
}

TEST_F(FakeFault, CopiesTakeTurnsOnABusOfAGivenSpeed) {
  start("h2d=100000000,latency=1000000");  // 10 ns a byte
  const CUstream a = make_stream(), b = make_stream();
  const CUdeviceptr to_a = make_memory(100'000), to_b = make_memory(100'000);
  unsigned char* const host = make_pinned(200'000);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(to_a, host, 100'000, a), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(to_b, host + 100'000, 100'000, b), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  fake_cuda::FakeCopy first, second;
  ASSERT_TRUE(fake.copy(0, &first));
  ASSERT_TRUE(fake.copy(1, &second));
  EXPECT_GE(first.end_ns - first.start_ns, 2'000'000);
  EXPECT_GE(second.end_ns - first.start_ns, 4'000'000) << "it waited for the bus";
}

}  // namespace
}  // namespace framelane::cuda
