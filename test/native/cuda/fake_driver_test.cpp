// What the fake CUDA driver does when everything is right.
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "fake_fixture.h"

namespace framelane::cuda {
namespace {

using fake_cuda::FakeCopy;
using fake_cuda::FakeLaunch;

class FakeDriver : public FakeTest {};

void run_add(const FakeLaunch& launch, void* user) {
  const auto& fake = *static_cast<const fake_cuda::FakeCuda*>(user);
  auto* const out = static_cast<unsigned char*>(fake.host_address(launch.parameter[0].value));
  const auto* const in = static_cast<const unsigned char*>(fake.host_address(launch.parameter[1].value));
  for (size_t at = 0; at < 100; ++at) out[at] = static_cast<unsigned char>(in[at] + launch.parameter[2].value);
}

TEST_F(FakeDriver, CarriesAFrameThroughUploadKernelAndDownload) {
  fake.kernel("add", run_add, const_cast<fake_cuda::FakeCuda*>(&fake));
  const CUstream stream = make_stream();
  const CUdeviceptr in = make_memory(100), out = make_memory(100);
  unsigned char* const host_in = make_pinned(100);
  unsigned char* const host_out = make_pinned(100);
  for (size_t at = 0; at < 100; ++at) host_in[at] = static_cast<unsigned char>(at);
  const CUfunction add = load_kernel("add");
  fake.steady(true);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(in, host_in, 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, stream, out, in, 7), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(host_out, out, 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  for (size_t at = 0; at < 100; ++at) ASSERT_EQ(host_out[at], at + 7);
  fake.steady(false);

  FakeLaunch launch;
  ASSERT_EQ(fake.launches(), 1U);
  ASSERT_TRUE(fake.launch(0, &launch));
  EXPECT_STREQ(launch.kernel, "add");
  EXPECT_EQ(launch.grid[0], 4U);
  EXPECT_EQ(launch.block[0], 32U);
  ASSERT_EQ(launch.parameters, 3U);
  EXPECT_TRUE(launch.parameter[0].is_pointer && launch.parameter[0].written);
  EXPECT_TRUE(launch.parameter[1].is_pointer && !launch.parameter[1].written);
  EXPECT_EQ(launch.parameter[1].block, in);
  EXPECT_EQ(launch.parameter[1].block_bytes, 100U);
  EXPECT_FALSE(launch.parameter[2].is_pointer);
  EXPECT_EQ(launch.parameter[2].value, 7U);
  FakeCopy copy;
  ASSERT_EQ(fake.copies(), 2U);
  ASSERT_TRUE(fake.copy(1, &copy));
  EXPECT_EQ(copy.direction, FakeCopy::device_to_host);
  EXPECT_TRUE(copy.pinned);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeDriver, ReplaysACapturedGraph) {
  fake.kernel("add", run_add, const_cast<fake_cuda::FakeCuda*>(&fake));
  const CUstream stream = make_stream();
  const CUdeviceptr in = make_memory(100), middle = make_memory(100), out = make_memory(100);
  unsigned char* const host = make_pinned(100);
  const CUfunction add = load_kernel("add");
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(driver.cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(launch_add(add, stream, middle, in, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, stream, out, middle, 2), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(fake.launches(), 0U);
  size_t nodes = 0;
  EXPECT_EQ(driver.cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 2U);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  for (unsigned char frame = 0; frame < 3; ++frame) {
    std::memset(host, frame, 100);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(in, host, 100, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(host, out, 100, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(host[99], frame + 3);
  }
  FakeLaunch launch;
  EXPECT_EQ(fake.launches(), 6U);
  ASSERT_TRUE(fake.launch(5, &launch));
  EXPECT_TRUE(launch.replayed);
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeDriver, LeavesNothingWhenAllIsGivenBack) {
  const CUstream stream = make_stream();
  const CUevent event = make_event();
  const CUdeviceptr memory = make_memory(1 << 20);
  unsigned char* const pinned = make_pinned(4096);
  std::vector<unsigned char> own(10000);
  EXPECT_EQ(driver.cuMemHostRegister(own.data(), own.size(), 0), CUDA_SUCCESS);
  static_cast<void>(load_kernel("add"));
  EXPECT_EQ(driver.cuMemHostUnregister(own.data()), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(fake.check_leaks(), 0U) << fake.report_text();
}

TEST_F(FakeDriver, LinksPtxToAnImageThatLoads) {
  CUlinkState link = nullptr;
  ASSERT_EQ(driver.cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  std::string ptx = kTestPtx;
  ASSERT_EQ(driver.cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx.data(), ptx.size() + 1, "p", 0, nullptr, nullptr),
            CUDA_SUCCESS);
  void* cubin = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(driver.cuLinkComplete(link, &cubin, &bytes), CUDA_SUCCESS);
  const std::vector<char> kept(static_cast<char*>(cubin), static_cast<char*>(cubin) + bytes);
  EXPECT_EQ(driver.cuLinkDestroy(link), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuModuleLoadData(&module, kept.data()), CUDA_SUCCESS);
  CUfunction function = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "small"), CUDA_SUCCESS);
  start("sm=75");
  EXPECT_EQ(driver.cuModuleLoadData(&module, kept.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(FakeDriver, ShowsAsManyDevicesAsAsked) {
  for (const int wanted : {1, 2, 8, 16}) {
    start(("devices=" + std::to_string(wanted) + ",memory=64MiB").c_str());
    int count = 0;
    EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, wanted);
    size_t bytes = 0;
    EXPECT_EQ(driver.cuDeviceTotalMem(&bytes, wanted - 1), CUDA_SUCCESS);
    EXPECT_EQ(bytes, size_t{64} << 20);
    EXPECT_EQ(driver.cuDeviceTotalMem(&bytes, wanted), CUDA_ERROR_INVALID_DEVICE);
  }
  fake.reset("devices=0");
  EXPECT_EQ(driver.cuInit(0), CUDA_ERROR_NO_DEVICE);
}

TEST_F(FakeDriver, RunsHostFunctionsInOrderAndStreamsAtTheSameTime) {
  struct Meeting {
    std::atomic<int> here{0};
    static void meet(void* data) {
      std::atomic<int>& here = static_cast<Meeting*>(data)->here;
      ++here;
      while (here.load() < 2) std::this_thread::yield();
    }
  } meeting;
  const CUstream a = make_stream(), b = make_stream();
  // Each waits for the other: it ends only because the two run at once.
  EXPECT_EQ(driver.cuLaunchHostFunc(a, Meeting::meet, &meeting), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLaunchHostFunc(b, Meeting::meet, &meeting), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(b), CUDA_SUCCESS);
}

// Lanes as a service has them: each its own thread and stream, one block that they pass on by events.
TEST_F(FakeDriver, CarriesManyLanesAtOnce) {
  fake.kernel("add", run_add, const_cast<fake_cuda::FakeCuda*>(&fake));
  const CUfunction add = load_kernel("add");
  const CUdeviceptr passed_on = make_memory(100);
  std::mutex turn;
  CUevent last_use = nullptr;
  const auto lane = [&](unsigned char first) {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    const CUstream stream = make_stream();
    const CUevent mine = make_event();
    const CUdeviceptr in = make_memory(100), out = make_memory(100);
    unsigned char* const host = make_pinned(200);
    for (int frame = 0; frame < 50; ++frame) {
      std::memset(host, first + frame, 100);
      EXPECT_EQ(driver.cuMemcpyHtoDAsync(in, host, 100, stream), CUDA_SUCCESS);
      {
        const std::lock_guard<std::mutex> lock(turn);
        if (last_use != nullptr) {
          EXPECT_EQ(driver.cuStreamWaitEvent(stream, last_use, 0), CUDA_SUCCESS);
        }
        EXPECT_EQ(launch_add(add, stream, passed_on, in, 1), CUDA_SUCCESS);
        EXPECT_EQ(launch_add(add, stream, out, passed_on, 2), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuEventRecord(mine, stream), CUDA_SUCCESS);
        last_use = mine;
      }
      EXPECT_EQ(driver.cuMemcpyDtoHAsync(host + 100, out, 100, stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
      ASSERT_EQ(host[199], static_cast<unsigned char>(first + frame + 3));
    }
  };
  std::vector<std::thread> lanes;
  for (unsigned char at = 0; at < 4; ++at) lanes.emplace_back(lane, static_cast<unsigned char>(at * 50));
  for (std::thread& thread : lanes) thread.join();
  EXPECT_EQ(fake.launches(), 400U);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

}  // namespace
}  // namespace framelane::cuda
