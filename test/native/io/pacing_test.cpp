#include "io/pacing.h"

#include <gtest/gtest.h>

#include <thread>

namespace framelane::io {
namespace {

TEST(Pacing, FrameTimesDoNotDrift) {
  EXPECT_EQ(frame_time_ns(0, 30), 0);
  EXPECT_EQ(frame_time_ns(30, 30), 1'000'000'000);
  // A year at 30000/1001 frames a second, to the nanosecond.
  const uint64_t frames = 30'000ULL * 31'536;
  EXPECT_NEAR(static_cast<double>(frame_time_ns(frames, 30'000.0 / 1001) - 1001LL * 31'536 * 1'000'000'000), 0, 16);
}

TEST(Pacing, IndexIsTheInverseOfTime) {
  for (const double fps : {0.001, 1.0, 29.97, 30'000.0 / 1001, 59.94, 1000.0, 99'999.0}) {
    for (const uint64_t index : {0ULL, 1ULL, 2ULL, 999ULL, 1'000'003ULL, 100'000'007ULL}) {
      if (static_cast<double>(index) / fps > 1e9) continue;  // beyond what nanoseconds in 64 bits hold
      EXPECT_EQ(frame_index_at(frame_time_ns(index, fps), fps), index) << fps;
      if (index > 0) EXPECT_EQ(frame_index_at(frame_time_ns(index, fps) - 1, fps), index - 1) << fps;
    }
  }
  EXPECT_EQ(frame_index_at(-5, 25), 0U);
}

TEST(Pacing, AStopWakesASleeper) {
  StopFlag stop;
  std::thread sleeper([&] { EXPECT_FALSE(stop.sleep_until(monotonic_now_ns() + 3'600'000'000'000)); });
  stop.request();
  sleeper.join();
  stop.rearm();
  EXPECT_TRUE(stop.sleep_until(monotonic_now_ns() - 1)) << "what is due already does not sleep";
}

TEST(Pacing, PlayClockCatchesUpWithAShortDelayAndMovesAfterALongOne) {
  constexpr MonotonicNs kMostLateNs = 50'000'000;
  StopFlag stop;
  PlayClock clock(kMostLateNs);
  const MonotonicNs start_ns = monotonic_now_ns();
  ASSERT_TRUE(clock.wait(7'000'000, stop)) << "the first frame is due at once";
  ASSERT_TRUE(clock.wait(17'000'000, stop));
  EXPECT_GE(monotonic_now_ns() - start_ns, 10'000'000);
  // Later than the clock forgives: the film goes on from now, at its own rate.
  ASSERT_TRUE(stop.sleep_until(monotonic_now_ns() + 2 * kMostLateNs));
  ASSERT_TRUE(clock.wait(18'000'000, stop));
  const MonotonicNs moved_ns = monotonic_now_ns();
  ASSERT_TRUE(clock.wait(38'000'000, stop));
  EXPECT_GE(monotonic_now_ns() - moved_ns, 15'000'000);
}

TEST(Pacing, PlayClockKeepsItsPhaseAlsoAfterALongDelay) {
  constexpr MonotonicNs kPeriodNs = 10'000'000;
  constexpr MonotonicNs kStartNs = 777 * kPeriodNs;
  PlayClock clock(50'000'000);
  clock.restart(100, Phase{.part = 0.25});
  const auto due_ns = [&](MonotonicNs now_ns, uint64_t frame) {
    return clock.due_ns(kStartNs + now_ns, frame_time_ns(frame, 100)) - kStartNs;
  };
  EXPECT_EQ(due_ns(0, 3), 2'500'000) << "whatever frame comes first";
  EXPECT_EQ(due_ns(47'000'000, 4), 12'500'000) << "a short delay is caught up with";
  EXPECT_EQ(due_ns(47'000'000, 5), 22'500'000);
  EXPECT_EQ(due_ns(83'000'000, 6), 92'500'000) << "50.5 ms late: from the next moment of the phase";
  EXPECT_EQ(due_ns(83'000'000, 7), 102'500'000);
  clock.restart(100, std::nullopt);
  EXPECT_EQ(due_ns(333, 8), 333);
  clock.restart(0, Phase{.part = 0.25});
  EXPECT_EQ(due_ns(334, 9), 334) << "nothing is known of the rate";
}

}  // namespace
}  // namespace framelane::io
