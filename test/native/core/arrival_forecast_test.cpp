#include "core/arrival_forecast.h"

#include <gtest/gtest.h>

#include <random>

namespace framelane {
namespace {

using Found = ArrivalForecast::Found;

constexpr MonotonicNs kStart = 1'000'000'000'000;
constexpr int64_t kPeriodNs = 10'000'000;

// Frames at exact times; the next is due at the time returned.
MonotonicNs teach(ArrivalForecast& forecast, int frames, int64_t period_ns = kPeriodNs, Found found = Found::watching) {
  MonotonicNs now = kStart;
  for (int i = 0; i < frames; ++i, now += period_ns) forecast.arrived(now, found);
  return now;
}

TEST(ArrivalForecast, ThreeFramesMakeAPeriod) {
  ArrivalForecast forecast;
  EXPECT_FALSE(forecast.next(kStart));
  (void)teach(forecast, 2);
  EXPECT_FALSE(forecast.next(kStart + kPeriodNs));
  ArrivalForecast taught;
  const MonotonicNs due = teach(taught, 3);
  const auto window = taught.next(due - kPeriodNs);
  ASSERT_TRUE(window);
  EXPECT_LT(window->begin_ns, due);
  EXPECT_GT(window->end_ns, due);
  EXPECT_LE(window->end_ns - window->begin_ns, kPeriodNs / 8);
}

TEST(ArrivalForecast, ExpectsAMissingFrameSomePeriodsLongAndThenNone) {
  ArrivalForecast forecast;
  const MonotonicNs due = teach(forecast, 20);
  for (int missed = 0; missed <= 4; ++missed) {
    const auto window = forecast.next(due + missed * kPeriodNs - 1'000'000);
    ASSERT_TRUE(window) << missed;
    EXPECT_LT(window->begin_ns, due + missed * kPeriodNs);
    EXPECT_GT(window->end_ns, due + missed * kPeriodNs);
  }
  EXPECT_FALSE(forecast.next(due + 5 * kPeriodNs));
  forecast.arrived(due + 3 * kPeriodNs, Found::asleep);  // it comes after all, with the old phase
  EXPECT_TRUE(forecast.next(due + 3 * kPeriodNs));
  forecast.arrived(due + 30 * kPeriodNs, Found::asleep);
  EXPECT_FALSE(forecast.next(due + 30 * kPeriodNs));
}

TEST(ArrivalForecast, LearnsAnotherRate) {
  ArrivalForecast forecast;
  MonotonicNs now = teach(forecast, 20);
  for (int i = 0; i < 10; ++i) forecast.arrived(now += kPeriodNs * 7 / 10, Found::asleep);
  const MonotonicNs due = now + kPeriodNs * 7 / 10;
  const auto window = forecast.next(now);
  ASSERT_TRUE(window);
  EXPECT_LT(window->begin_ns, due);
  EXPECT_GT(window->end_ns, due);
  EXPECT_GT(window->begin_ns, now);
}

TEST(ArrivalForecast, ExpectsNothingOfAnIrregularSource) {
  std::mt19937 random(5);
  ArrivalForecast forecast;
  MonotonicNs now = kStart;
  int windows = 0;
  for (int i = 0; i < 1000; ++i) {
    now += static_cast<int64_t>(random() % (2 * kPeriodNs));
    forecast.arrived(now, Found::asleep);
    windows += forecast.next(now).has_value();
  }
  EXPECT_LT(windows, 500);
}

TEST(ArrivalForecast, OneLateOrExtraFrameChangesNothing) {
  ArrivalForecast forecast;
  MonotonicNs due = teach(forecast, 20);
  forecast.arrived(due + kPeriodNs / 4, Found::asleep);
  due += kPeriodNs;
  forecast.arrived(due - kPeriodNs * 6 / 10, Found::asleep);
  const auto window = forecast.next(due - kPeriodNs / 2);
  ASSERT_TRUE(window);
  EXPECT_LT(window->begin_ns, due);
  EXPECT_GT(window->end_ns, due);
}

TEST(ArrivalForecast, FollowsADriftAndAJitterAndWidensOnlyForASleeper) {
  std::mt19937 random(7);
  ArrivalForecast forecast;
  MonotonicNs tick = teach(forecast, 3);
  int caught = 0;
  constexpr int kFrames = 4000;
  for (int i = 0; i < kFrames; ++i) {
    const MonotonicNs arrival = tick + static_cast<int64_t>(random() % 300'000);
    const auto window = forecast.next(tick - kPeriodNs / 2);
    ASSERT_TRUE(window);
    const bool watching = arrival >= window->begin_ns && arrival < window->end_ns;
    caught += watching;
    forecast.arrived(arrival, watching ? Found::watching : Found::asleep);
    tick += kPeriodNs + 2'000;  // 0.02 % slow
  }
  EXPECT_GT(caught, kFrames * 98 / 100);

  ArrivalForecast overslept;
  const MonotonicNs due = teach(overslept, 3);
  const auto before = overslept.next(due - 1'000'000);
  overslept.arrived(due, Found::asleep);
  const auto after = overslept.next(due + kPeriodNs - 1'000'000);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->begin_ns - kPeriodNs, before->begin_ns - (due - before->begin_ns) / 2);
  overslept.arrived(due + kPeriodNs, Found::busy);
  EXPECT_EQ(overslept.next(due + kPeriodNs)->begin_ns, after->begin_ns + kPeriodNs);
}

}  // namespace
}  // namespace framelane
