// Which of the reasons for a late frame are the device's loss, on the fake driver.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "fakes/eventually.h"
#include "native/cuda/cuda_rig.h"

namespace framelane::cuda {
namespace {

using fakes::eventually;
using test::CudaRig;
using test::kFormat;
using test::Lost;
using test::Slots;

constexpr int64_t kTimeoutNs = 100'000'000;
constexpr auto kManyTimeouts = std::chrono::nanoseconds(6 * kTimeoutNs);

// A pipeline of one lane with its frame. Thread-safety: the test's thread.
class Late : public ::testing::Test {
 protected:
  void SetUp() override {
    rig.watch->listen(listener);
    Result<std::unique_ptr<Pipeline>> made = rig.open();
    ASSERT_TRUE(made.ok()) << made.error().message;
    pipeline = made.take();
  }
  void TearDown() override {
    for (const char* const call : {"cuGraphLaunch", "cuEventQuery"}) rig.fake.delay(call, 0);
    rig.fake.release_hangs();
    pipeline.reset();
  }
  Status submit() { return pipeline->submit(0, {{&in, 1}, {&out, 1}, &meta}); }
  bool is_lost() {
    return eventually([&] { return listener.times.load() != 0; });
  }

  CudaRig rig{"", kTimeoutNs};
  Lost listener;
  Slots slots{rig, kFormat, 3};
  const FrameView in = slots.view(0), out = slots.view(1);
  const FrameMeta meta;
  std::unique_ptr<Pipeline> pipeline;
};

TEST_F(Late, AFrameThatTheDeviceDoesNotFinishIsALoss) {
  rig.fake.hang("shift", 1);
  ASSERT_TRUE(submit().ok());
  EXPECT_TRUE(is_lost());
  EXPECT_EQ(listener.message(), "a frame of channel test was not finished within 100 ms");
  rig.fake.release_hangs();
  EXPECT_TRUE(pipeline->wait(0).status.ok());
}

// The first one is the compiler's, which waits for it as a worker does.
TEST_F(Late, AFirstRunThatTheDeviceDoesNotFinishIsALoss) {
  rig.fake.hang("shift", 1);
  std::thread compiling([this] { EXPECT_TRUE(rig.open().ok()); });
  EXPECT_TRUE(is_lost());
  EXPECT_EQ(listener.message(), "a frame of channel test was not finished within 100 ms");
  rig.fake.release_hangs();
  compiling.join();
}

// Its worker did not get a turn.
TEST_F(Late, AFrameThatIsFinishedAndNotYetTakenIsNone) {
  ASSERT_TRUE(submit().ok());
  std::this_thread::sleep_for(kManyTimeouts);
  EXPECT_FALSE(rig.watch->lost());
  EXPECT_TRUE(pipeline->wait(0).status.ok());
}

// One frame that nobody takes does not hide another one.
TEST_F(Late, EachLateFrameIsAskedFor) {
  ASSERT_TRUE(submit().ok());
  Result<std::unique_ptr<Pipeline>> second = rig.open();
  ASSERT_TRUE(second.ok());
  std::this_thread::sleep_for(2 * std::chrono::nanoseconds(kTimeoutNs));
  rig.fake.hang("shift", 1);
  const FrameView other = slots.view(2);
  ASSERT_TRUE(second.value()->submit(0, {{&in, 1}, {&other, 1}, &meta}).ok());
  EXPECT_TRUE(is_lost());
  rig.fake.release_hangs();
  EXPECT_TRUE(second.value()->wait(0).status.ok());
  EXPECT_TRUE(pipeline->wait(0).status.ok());
}

TEST_F(Late, ACallThatDoesNotReturnWhileNobodyMovesIsALoss) {
  rig.fake.delay("cuGraphLaunch", 6 * kTimeoutNs);
  EXPECT_TRUE(submit().ok());
  EXPECT_TRUE(is_lost());
  EXPECT_EQ(listener.message(),
            "a frame of channel test waits for a call of the driver that did not return within 100 ms");
  EXPECT_TRUE(pipeline->wait(0).status.ok());
}

// The driver's locks are not fair: while others move, a call may take long.
TEST_F(Late, ACallThatTakesLongWhileOthersMoveIsNone) {
  LaneProgress moves;
  moves.channel = "neighbour";
  rig.watch->add(moves);
  std::atomic<bool> enough{false};
  std::thread neighbour([&] {
    while (!enough.load()) {
      moves.calling();
      moves.idle();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  rig.fake.delay("cuGraphLaunch", 6 * kTimeoutNs);
  EXPECT_TRUE(submit().ok());
  EXPECT_FALSE(rig.watch->lost());
  EXPECT_TRUE(pipeline->wait(0).status.ok());
  rig.fake.delay("cuGraphLaunch", 20 * kTimeoutNs);
  EXPECT_TRUE(submit().ok());
  EXPECT_TRUE(rig.watch->lost()) << "however the others move";
  EXPECT_TRUE(pipeline->wait(0).status.ok());
  enough.store(true);
  neighbour.join();
  rig.watch->remove(moves);
}

TEST_F(Late, ADriverThatDoesNotAnswerIsALoss) {
  rig.fake.hang("shift", 1);
  ASSERT_TRUE(submit().ok());
  rig.fake.delay("cuEventQuery", 6 * kTimeoutNs);
  EXPECT_TRUE(is_lost());
  EXPECT_EQ(listener.message(),
            "a frame of channel test was not finished, and the driver did not answer within 100 ms");
  rig.fake.release_hangs();
  EXPECT_TRUE(pipeline->wait(0).status.ok());
}

// A lane that goes waits for the answer about it: its events are of no use afterwards.
TEST_F(Late, ALaneMayGoWhileTheDeviceIsAskedAboutIt) {
  ASSERT_TRUE(submit().ok());
  rig.fake.delay("cuEventQuery", kTimeoutNs / 2);
  const uint64_t before = rig.fake.calls("cuEventQuery");
  ASSERT_TRUE(eventually([&] { return rig.fake.calls("cuEventQuery") > before; }));
  pipeline.reset();
  EXPECT_FALSE(rig.watch->lost());
}

}  // namespace
}  // namespace framelane::cuda
