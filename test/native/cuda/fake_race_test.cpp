// The detector stream_race: one block, two streams, nothing between them.
#include <cstdlib>
#include <thread>

#include "fake_fixture.h"

namespace framelane::cuda {
namespace {

class FakeRace : public FakeTest {
 protected:
  FakeRace()
      : a_(make_stream()),
        b_(make_stream()),
        event_(make_event()),
        add_(load_kernel("add")),
        shared_(make_memory(100)),
        other_(make_memory(100)),
        third_(make_memory(100)) {}

  CUresult write_shared(CUstream stream) { return launch_add(add_, stream, shared_, other_, 1); }
  CUresult read_shared(CUstream stream) { return launch_add(add_, stream, third_, shared_, 1); }

  CUstream a_, b_;
  CUevent event_;
  CUfunction add_;
  CUdeviceptr shared_, other_, third_;
};

TEST_F(FakeRace, CatchesAWriteThatAnotherStreamReads) {
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(read_shared(b_), CUDA_SUCCESS);
  EXPECT_EQ(detections("stream_race"), 1U);
  EXPECT_NE(fake.report_text().find("no event or wait orders the two"), std::string::npos) << fake.report_text();
}

TEST_F(FakeRace, CatchesAReadThatAnotherStreamOverwrites) {
  EXPECT_EQ(read_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(write_shared(b_), CUDA_SUCCESS);
  EXPECT_EQ(detections("stream_race"), 1U) << fake.report_text();
}

// That both have long ended by chance is no order.
TEST_F(FakeRace, CatchesItWhenNothingOverlapsInTimeToo) {
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  while (fake.launches() == 0) std::this_thread::yield();
  EXPECT_EQ(read_shared(b_), CUDA_SUCCESS);
  EXPECT_EQ(detections("stream_race"), 1U) << fake.report_text();
}

TEST_F(FakeRace, LetsReadersShareABlock) {
  EXPECT_EQ(launch_add(add_, a_, other_, shared_, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add_, b_, third_, shared_, 1), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeRace, TakesAnEventForOrder) {
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event_, a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamWaitEvent(b_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(read_shared(b_), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(detections("stream_race"), 1U) << "nothing says that b has read it";
}

TEST_F(FakeRace, CatchesAnEventThatIsRecordedTooEarly) {
  EXPECT_EQ(driver.cuEventRecord(event_, a_), CUDA_SUCCESS);
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamWaitEvent(b_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(read_shared(b_), CUDA_SUCCESS);
  EXPECT_EQ(detections("stream_race"), 1U) << fake.report_text();
}

TEST_F(FakeRace, TakesOrderThroughAThirdStream) {
  const CUstream between = make_stream();
  const CUevent second = make_event();
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event_, a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamWaitEvent(between, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(second, between), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamWaitEvent(b_, second, 0), CUDA_SUCCESS);
  EXPECT_EQ(read_shared(b_), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeRace, TakesAWaitOfTheHostForOrder) {
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(a_), CUDA_SUCCESS);
  EXPECT_EQ(write_shared(b_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event_, b_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event_, a_), CUDA_SUCCESS);
  while (driver.cuEventQuery(event_) != CUDA_SUCCESS) std::this_thread::yield();
  EXPECT_EQ(write_shared(b_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
}

TEST_F(FakeRace, CatchesCopiesByTheirBytes) {
  unsigned char* const host = make_pinned(4096);
  fake.pause(true);  // caught when it is put on the stream; run, it would be a real race of the streams' threads
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(shared_, host, 50, a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(shared_ + 50, host + 50, 50, b_), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << "two halves: " << fake.report_text();
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(shared_ + 49, host, 1, b_), CUDA_SUCCESS);
  EXPECT_EQ(detections("stream_race"), 1U) << fake.report_text();
}

TEST_F(FakeRace, CatchesABlockThatChangesStreamsWithoutAnEvent) {
  const CUdeviceptr arena = make_memory(4096);
  for (const bool with_event : {true, false}) {
    driver.annotate(arena, 1024, BlockState::given, 2);
    EXPECT_EQ(launch_add(add_, a_, arena, other_, 1), CUDA_SUCCESS);
    driver.annotate(arena, 1024, BlockState::returned, 2);
    if (with_event) {
      EXPECT_EQ(driver.cuEventRecord(event_, a_), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamWaitEvent(b_, event_, 0), CUDA_SUCCESS);
    }
    // Cut smaller, as a cache may do.
    driver.annotate(arena, 512, BlockState::given, 3);
    EXPECT_EQ(launch_add(add_, b_, arena, other_, 1), CUDA_SUCCESS);
    driver.annotate(arena, 512, BlockState::returned, 3);
    EXPECT_EQ(detections("stream_race"), with_event ? 0U : 1U) << fake.report_text();
    EXPECT_EQ(driver.cuStreamSynchronize(b_), CUDA_SUCCESS);
  }
  EXPECT_EQ(detections(nullptr), 1U) << fake.report_text();
}

TEST_F(FakeRace, CatchesTwoGraphsOnOneBlock) {
  CUgraphExec execs[2] = {};
  const CUstream streams[] = {a_, b_};
  for (int at = 0; at < 2; ++at) {
    CUgraph graph = nullptr;
    ASSERT_EQ(driver.cuStreamBeginCapture(streams[at], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    EXPECT_EQ(write_shared(streams[at]), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuStreamEndCapture(streams[at], &graph), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphInstantiate(&execs[at], graph, 0), CUDA_SUCCESS);
  }
  EXPECT_EQ(detections(nullptr), 0U) << "a capture touches nothing: " << fake.report_text();
  EXPECT_EQ(driver.cuGraphLaunch(execs[0], a_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphLaunch(execs[0], a_), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  EXPECT_EQ(driver.cuGraphLaunch(execs[1], b_), CUDA_SUCCESS);
  EXPECT_EQ(detections("stream_race"), 1U) << fake.report_text();
}

TEST_F(FakeRace, LooksAtTheBranchesOfAGraph) {
  const CUevent joined = make_event();
  for (const bool ordered : {true, false}) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    ASSERT_EQ(driver.cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    if (ordered) {
      EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
    }
    EXPECT_EQ(driver.cuEventRecord(event_, a_), CUDA_SUCCESS);
    if (!ordered) {
      EXPECT_EQ(write_shared(a_), CUDA_SUCCESS);
    }
    EXPECT_EQ(driver.cuStreamWaitEvent(b_, event_, 0), CUDA_SUCCESS);
    EXPECT_EQ(read_shared(b_), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventRecord(joined, b_), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(a_, joined, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuStreamEndCapture(a_, &graph), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(exec, a_), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(a_), CUDA_SUCCESS);
    EXPECT_EQ(detections("stream_race"), ordered ? 0U : 1U) << fake.report_text();
  }
}

#if defined(__SANITIZE_THREAD__)
// The fake's own bookkeeping must not order what the driver does not: these races are there for ThreadSanitizer.
class FakeRaceSeen : public FakeRace {
 protected:
  FakeRaceSeen() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(FakeRaceSeen, AWriteToASlotWhoseUploadNobodyWaitedFor) {
  EXPECT_EXIT(
      {
        unsigned char* const slot = make_pinned(4096);
        static_cast<void>(driver.cuMemcpyHtoDAsync(shared_, slot, 100, a_));
        while (fake.copies() == 0) std::this_thread::yield();
        // Other calls in between, on this stream too, are no wait.
        static_cast<void>(driver.cuEventRecord(event_, a_));
        static_cast<void>(write_shared(b_));
        slot[10] = 1;
        std::exit(0);
      },
      ::testing::ExitedWithCode(66), "data race");
}

TEST_F(FakeRaceSeen, AReadOfAFrameOnAnotherThreadBeforeItsDownload) {
  EXPECT_EXIT(
      {
        unsigned char* const slot = make_pinned(4096);
        static_cast<void>(driver.cuMemcpyDtoHAsync(slot, shared_, 100, a_));
        std::thread reader([&] {
          while (fake.copies() == 0) std::this_thread::yield();
          static_cast<void>(driver.cuCtxSetCurrent(context));
          static_cast<void>(driver.cuStreamSynchronize(b_));
          if (slot[10] == 77) std::abort();
        });
        reader.join();
        std::exit(0);
      },
      ::testing::ExitedWithCode(66), "data race");
}
#endif

}  // namespace
}  // namespace framelane::cuda
