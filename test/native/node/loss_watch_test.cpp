#include "node/loss_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "fakes/channel_bench.h"

namespace framelane::node {
namespace {

const Error kFault{ErrorCode::device_lost, "a kernel faulted"};

Event lost_event() {
  Event event;
  event.channel = "press";
  event.state = ChannelState::backoff;
  event.code = ErrorCode::device_lost;
  event.message = kFault.message;
  return event;
}

class LossWatchTest : public ::testing::Test {
 protected:
  LossWatchTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  [[nodiscard]] uint64_t losses() const { return block.device.losses.load(); }

  fakes::RecordingListener listener;
  stats::EngineBlock block{};
};

TEST_F(LossWatchTest, PassesOnWhatIsNoLoss) {
  LossWatch watch("cuda:0", listener, block, false);
  Event event = lost_event();
  event.code = ErrorCode::device_failed;
  watch.on_event(event);
  ASSERT_EQ(listener.events().size(), 1U);
  EXPECT_EQ(listener.events()[0].channel, "press");
  EXPECT_EQ(listener.events()[0].code, ErrorCode::device_failed);
  EXPECT_EQ(listener.events()[0].message, kFault.message);
  EXPECT_EQ(losses(), 0U);
}

TEST_F(LossWatchTest, SaysOfTheDeviceWhatAChannelSawFirst) {
  LossWatch watch("cuda:0", listener, block, false);
  watch.on_event(lost_event());
  watch.device_lost({ErrorCode::device_lost, "too late to be news"});
  watch.on_event(lost_event());
  const std::vector<Event> events = listener.events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].channel, "press");
  EXPECT_EQ(events[1].channel, "");
  EXPECT_EQ(events[1].state, ChannelState::faulted);
  EXPECT_EQ(events[1].code, ErrorCode::device_lost);
  EXPECT_EQ(events[1].message, "cuda:0 is lost: a kernel faulted");
  EXPECT_GT(events[1].time_ns, 0);
  EXPECT_EQ(events[2].channel, "press");
  EXPECT_EQ(losses(), 1U);
}

TEST_F(LossWatchTest, CountsOneLossHoweverManySeeIt) {
  LossWatch watch("cuda:0", listener, block, false);
  std::vector<std::thread> channels;
  for (int i = 0; i < 4; ++i) channels.emplace_back([&] { watch.on_event(lost_event()); });
  for (int i = 0; i < 4; ++i) channels.emplace_back([&] { watch.device_lost(kFault); });
  for (std::thread& channel : channels) channel.join();
  EXPECT_EQ(losses(), 1U);
  EXPECT_EQ(listener.events().size(), 5U);
}

TEST_F(LossWatchTest, EndsWithoutALossAndLeavesTheProcessAlone) {
  const LossWatch watch("cuda:0", listener, block, true);
}

TEST_F(LossWatchTest, EndsTheProcessWhoseOtherThreadsAreStuck) {
  EXPECT_EXIT(
      {
        LossWatch watch("cuda:0", listener, block, true);
        watch.device_lost(kFault);
        for (;;) ::pause();
      },
      ::testing::ExitedWithCode(kDeviceLostExit), "");
}

TEST_F(LossWatchTest, AStopAfterTheLossIsNoWayOut) {
  EXPECT_EXIT(
      {
        {
          LossWatch watch("cuda:0", listener, block, true);
          watch.on_event(lost_event());
        }
        ::_exit(0);
      },
      ::testing::ExitedWithCode(kDeviceLostExit), "");
}

}  // namespace
}  // namespace framelane::node
