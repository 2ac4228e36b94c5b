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

TEST(RefillPace, SleepsLessAfterTheRingRanEmpty) {
  RefillPace pace;
  (void)pace.nap_ns(kStart, 0, 6);
  MonotonicNs now = kStart;
  int64_t nap_ns = 200'000;
  for (uint64_t released = 6; released <= 60; released += 6) {
    now += nap_ns + 10'000;  // each sleep lasts longer than asked for, and all six slots are free at its end
    const int64_t next_ns = pace.nap_ns(now, released, 6);
    EXPECT_LE(next_ns, (nap_ns + 10'000) / 3);
    nap_ns = next_ns;
  }
  EXPECT_LT(nap_ns, 6'000);
}

}  // namespace
}  // namespace framelane
