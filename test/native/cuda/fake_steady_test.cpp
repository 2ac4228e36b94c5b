// The detectors of the steady state, and leaks.
#include <fstream>
#include <iterator>

#include "fake_fixture.h"

namespace framelane::cuda {
namespace {

class FakeSteady : public FakeTest {};

TEST_F(FakeSteady, CatchesCopiesWithUnpinnedMemory) {
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(100);
  unsigned char* const pinned = make_pinned(100);
  std::vector<unsigned char> pageable(100, 7);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, pageable.data(), 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << "setting up may do that: " << fake.report_text();
  fake.steady(true);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, pinned, 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(pinned, memory, 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, pageable.data(), 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections("unpinned_copy"), 1U);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(pageable.data(), memory, 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(detections("unpinned_copy"), 2U);
  EXPECT_EQ(detections(nullptr), 2U) << fake.report_text();
}

// As the real driver: the upload has read its source, the download has written it, when the call returns.
TEST_F(FakeSteady, CopiesUnpinnedMemoryBeforeTheCallReturns) {
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(100);
  std::vector<unsigned char> pageable(100, 7);
  fake.pause(true);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, pageable.data(), 100, stream), CUDA_SUCCESS);
  pageable.assign(100, 8);
  fake.pause(false);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(pageable.data(), memory, 100, stream), CUDA_SUCCESS);
  EXPECT_EQ(pageable[99], 7);
}

TEST_F(FakeSteady, CatchesWorkOnTheNullStream) {
  const CUdeviceptr memory = make_memory(100);
  unsigned char* const pinned = make_pinned(100);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, pinned, 100, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  fake.steady(true);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, pinned, 100, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(detections("default_stream"), 1U);
  EXPECT_EQ(detections(nullptr), 1U) << fake.report_text();
}

TEST_F(FakeSteady, CatchesWhatStallsOthers) {
  const CUdeviceptr memory = make_memory(100), other = make_memory(100);
  unsigned char* const pinned = make_pinned(100);
  std::vector<unsigned char> own(100);
  CUdeviceptr more = 0;
  void* more_pinned = nullptr;
  const auto once = [&](const char* what, CUresult result) {
    EXPECT_EQ(result, CUDA_SUCCESS) << what;
    EXPECT_EQ(detections("steady_call"), 1U) << what;
    fake.clear_detections();
  };
  fake.steady(true);
  once("cuMemAlloc", driver.cuMemAlloc(&more, 100));
  once("cuMemFree", driver.cuMemFree(more));
  once("cuMemHostAlloc", driver.cuMemHostAlloc(&more_pinned, 100, 0));
  once("cuMemFreeHost", driver.cuMemFreeHost(more_pinned));
  once("cuMemHostRegister", driver.cuMemHostRegister(own.data(), own.size(), 0));
  once("cuMemHostUnregister", driver.cuMemHostUnregister(own.data()));
  once("cuModuleLoadData", driver.cuModuleLoadData(&module, kTestPtx.c_str()));
  once("cuModuleLoadDataEx", driver.cuModuleLoadDataEx(&module, kTestPtx.c_str(), 0, nullptr, nullptr));
  once("cuCtxSynchronize", driver.cuCtxSynchronize());
  once("cuMemcpyHtoD", driver.cuMemcpyHtoD(memory, pinned, 100));
  once("cuMemcpyDtoH", driver.cuMemcpyDtoH(pinned, memory, 100));
  once("cuMemcpyDtoD", driver.cuMemcpyDtoD(other, memory, 100));
  fake.steady(false);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeSteady, LetsAFrameThrough) {
  const CUstream stream = make_stream();
  const CUevent event = make_event();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr in = make_memory(100), out = make_memory(100);
  unsigned char* const host = make_pinned(100);
  fake.steady(true);
  for (int frame = 0; frame < 100; ++frame) {
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(in, host, 100, stream), CUDA_SUCCESS);
    EXPECT_EQ(launch_add(add, stream, out, in, 1), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(host, out, 100, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventRecord(event, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventSynchronize(event), CUDA_SUCCESS);
  }
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeSteady, CountsEveryKindOfLeak) {
  const CUstream stream = make_stream();
  static_cast<void>(make_event());
  static_cast<void>(make_memory(100));
  static_cast<void>(make_pinned(100));
  static_cast<void>(load_kernel("add"));
  std::vector<unsigned char> own(100);
  EXPECT_EQ(driver.cuMemHostRegister(own.data(), own.size(), 0), CUDA_SUCCESS);
  CUlinkState link = nullptr;
  EXPECT_EQ(driver.cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  EXPECT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  for (const char* kind : {"allocations", "pinned", "registrations", "streams", "events", "graphs", "execs", "modules",
                           "links", "contexts"})
    EXPECT_EQ(fake.live(kind), 1U) << kind;
  EXPECT_EQ(fake.live("bytes"), 100U);
  EXPECT_EQ(fake.check_leaks(), 10U);
  EXPECT_EQ(detections("leak"), 10U) << fake.report_text();
  fake.clear_detections();
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(detections("leak"), 4U) << "what a context takes with it: " << fake.report_text();
}

TEST_F(FakeSteady, WritesDetectionsToAFileAtOnce) {
  const std::string path = ::testing::TempDir() + "fake_report_" + std::to_string(getpid());
  start(("steady=1,report=" + path).c_str());
  static_cast<void>(make_memory(100));
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, "steady_call: cuMemAlloc in the steady state\n");
  fake.reset("");
  EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST_F(FakeSteady, EndsTheProcessWhereATestWantsThat) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        fake.abort_on_detect(true);
        fake.steady(true);
        static_cast<void>(driver.cuCtxSynchronize());
      },
      "steady_call: cuCtxSynchronize in the steady state");
}

}  // namespace
}  // namespace framelane::cuda
