// What a stream capture of the fake refuses, with the real driver's codes, and the detector capture.
#include <thread>

#include "fake_fixture.h"

namespace framelane::cuda {
namespace {

class FakeCapture : public FakeTest {
 protected:
  FakeCapture()
      : stream_(make_stream()),
        event_(make_event()),
        add_(load_kernel("add")),
        in_(make_memory(100)),
        out_(make_memory(100)) {}

  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) {
    ASSERT_EQ(driver.cuStreamBeginCapture(stream_, mode), CUDA_SUCCESS);
    ASSERT_EQ(launch_add(add_, stream_, out_, in_, 1), CUDA_SUCCESS);
  }
  CUresult end() {
    CUgraph graph = nullptr;
    const CUresult result = driver.cuStreamEndCapture(stream_, &graph);
    EXPECT_EQ(graph != nullptr, result == CUDA_SUCCESS);
    return result;
  }
  // The call is refused, caught once, and has spoilt the capture.
  void expect_refusal(const char* what, CUresult result, CUresult wanted) {
    EXPECT_EQ(result, wanted) << what;
    EXPECT_EQ(detections("capture"), 1U) << what;
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) << what;
    fake.clear_detections();
  }

  CUstream stream_;
  CUevent event_;
  CUfunction add_;
  CUdeviceptr in_, out_;
};

TEST_F(FakeCapture, RefusesCallsThatNoCaptureAllows) {
  unsigned char* const host = make_pinned(100);
  const CUstream other = make_stream();
  const CUevent outside = make_event();
  std::vector<unsigned char> own(100);
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  CUmodule more = nullptr;
  const auto refuse = [&](const char* what, const auto& call) {
    begin();
    expect_refusal(what, call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  };
  refuse("cuMemAlloc", [&] { return driver.cuMemAlloc(&memory, 100); });
  refuse("cuMemFree", [&] { return driver.cuMemFree(in_); });
  refuse("cuMemHostAlloc", [&] { return driver.cuMemHostAlloc(&pinned, 100, 0); });
  refuse("cuMemFreeHost", [&] { return driver.cuMemFreeHost(host); });
  refuse("cuMemHostRegister", [&] { return driver.cuMemHostRegister(own.data(), 100, 0); });
  refuse("cuModuleLoadData", [&] { return driver.cuModuleLoadData(&more, kTestPtx.c_str()); });
  refuse("cuCtxSynchronize", [&] { return driver.cuCtxSynchronize(); });
  refuse("cuMemcpyHtoD", [&] { return driver.cuMemcpyHtoD(in_, host, 100); });
  refuse("cuStreamSynchronize, itself", [&] { return driver.cuStreamSynchronize(stream_); });
  refuse("cuStreamQuery, itself", [&] { return driver.cuStreamQuery(stream_); });
  refuse("cuStreamSynchronize, another", [&] { return driver.cuStreamSynchronize(other); });
  refuse("cuEventQuery", [&] { return driver.cuEventQuery(outside); });
  refuse("cuEventSynchronize", [&] { return driver.cuEventSynchronize(outside); });
  EXPECT_EQ(driver.cuMemFree(in_), CUDA_SUCCESS);
}

TEST_F(FakeCapture, RefusesToAskForACapturedEvent) {
  begin();
  EXPECT_EQ(driver.cuEventRecord(event_, stream_), CUDA_SUCCESS);
  expect_refusal("cuEventQuery", driver.cuEventQuery(event_), CUDA_ERROR_CAPTURED_EVENT);
  begin();
  EXPECT_EQ(driver.cuEventRecord(event_, stream_), CUDA_SUCCESS);
  expect_refusal("cuEventSynchronize", driver.cuEventSynchronize(event_), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(driver.cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(event_), CUDA_SUCCESS) << "recorded anew outside";
}

TEST_F(FakeCapture, RefusesAWaitForWhatIsOutside) {
  const CUstream other = make_stream();
  EXPECT_EQ(driver.cuEventRecord(event_, other), CUDA_SUCCESS);
  begin();
  expect_refusal("a wait", driver.cuStreamWaitEvent(stream_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

TEST_F(FakeCapture, RefusesToMergeTwoCaptures) {
  const CUstream other = make_stream();
  ASSERT_EQ(driver.cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event_, other), CUDA_SUCCESS);
  begin();
  expect_refusal("a wait", driver.cuStreamWaitEvent(stream_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
}

TEST_F(FakeCapture, WantsTheOriginTheThreadAndAllBranches) {
  const CUstream other = make_stream();
  CUgraph graph = nullptr;
  begin();
  EXPECT_EQ(driver.cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamWaitEvent(other, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  begin();
  EXPECT_EQ(driver.cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamWaitEvent(other, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add_, other, out_, in_, 1), CUDA_SUCCESS);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(driver.cuStreamSynchronize(other), CUDA_SUCCESS) << "it has left the capture";

  begin();
  std::thread([&] {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(detections("capture"), 3U) << fake.report_text();
}

TEST_F(FakeCapture, ThreadsHurtEachOtherOnlyInGlobalMode) {
  const auto alloc_elsewhere = [&] {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
      CUdeviceptr memory = 0;
      result = driver.cuMemAlloc(&memory, 100);
    }).join();
    return result;
  };
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(alloc_elsewhere(), CUDA_SUCCESS);
  EXPECT_EQ(end(), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  expect_refusal("cuMemAlloc", alloc_elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  static_cast<void>(make_memory(100));
  EXPECT_EQ(end(), CUDA_SUCCESS);
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  static_cast<void>(make_memory(100));
  EXPECT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(end(), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeCapture, KeepsTheNullStreamOut) {
  CUstream blocking = nullptr;
  ASSERT_EQ(driver.cuStreamCreateWithPriority(&blocking, CU_STREAM_DEFAULT, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin();
  EXPECT_EQ(launch_add(add_, nullptr, out_, in_, 1), CUDA_SUCCESS) << "the captured stream does not wait for it";
  EXPECT_EQ(end(), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add_, nullptr, out_, in_, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(detections("capture"), 1U) << fake.report_text();
}

TEST_F(FakeCapture, SpoiltByADestroyedStream) {
  begin();
  EXPECT_EQ(driver.cuStreamDestroy(stream_), CUDA_SUCCESS);
  EXPECT_EQ(detections("capture"), 1U) << fake.report_text();
}

TEST_F(FakeCapture, ACallThatIsMadeToFailEndsItAllTheSame) {
  begin();
  fake.fail("cuStreamEndCapture", 1, CUDA_ERROR_OUT_OF_MEMORY, 1);
  EXPECT_EQ(end(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  begin();
  EXPECT_EQ(end(), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

}  // namespace
}  // namespace framelane::cuda
