#include "core/refill_pace.h"

#include <gtest/gtest.h>

namespace framelane {
namespace {

constexpr MonotonicNs kStart = 1'000'000'000'000;

TEST(RefillPace, KnowsNothingAtFirst) {
  RefillPace pace;
  EXPECT_EQ(pace.nap_ns(kStart, 7, 6), 0);
}

TEST(RefillPace, SleepsForAThirdOfARingOfSmallFrames) {
  RefillPace pace;
  (void)pace.nap_ns(kStart, 100, 6);
  EXPECT_EQ(pace.nap_ns(kStart + 45'000, 103, 6), 30'000);            // 15 us a frame, two frames
  EXPECT_EQ(pace.nap_ns(kStart + 45'000 + 60'000, 105, 6), 60'000);   // 30 us a frame
  EXPECT_EQ(pace.nap_ns(kStart + 105'000 + 20'000, 106, 2), 20'000);  // never less than one
}

TEST(RefillPace, LeavesLargeFramesToTheWorker) {
  RefillPace pace;
  (void)pace.nap_ns(kStart, 0, 6);
  EXPECT_EQ(pace.nap_ns(kStart + 3'000'000, 3, 6), 0);
  EXPECT_EQ(pace.nap_ns(kStart + 3'000'000 + 3'600'000'000'000, 6, 6), 0);
}

TEST(RefillPace, LeavesAStandingWorkerToTheWorker) {
  RefillPace pace;
  (void)pace.nap_ns(kStart, 10, 6);
  EXPECT_EQ(pace.nap_ns(kStart + 50'000, 10, 6), 0);
}

TEST(RefillPace, SleepsLessWhereTheRingRanEmptyAndTriesMoreAgainLater) {
  RefillPace pace;
  MonotonicNs now = kStart;
  uint64_t released = 0;
  (void)pace.nap_ns(now, released, 6);
  const auto after = [&](uint64_t frames) {
    return pace.nap_ns(now += 10'000 * int64_t(frames), released += frames, 6);
  };
  EXPECT_EQ(after(4), 20'000);
  EXPECT_EQ(after(6), 10'000);
  EXPECT_EQ(after(6), 5'000);
  EXPECT_EQ(after(6), 2'500);
  EXPECT_EQ(after(6), 2'500);
  for (int naps = 0; naps < 255; ++naps) EXPECT_LT(after(2), 12'500);
  for (int naps = 0; naps < 256; ++naps) (void)after(2);
  EXPECT_EQ(after(2), 20'000);
}

}  // namespace
}  // namespace framelane
