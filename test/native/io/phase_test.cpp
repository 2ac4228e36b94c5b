#include "io/phase.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "io/pacing.h"
#include "native/io/source_run.h"

namespace framelane::io::test {
namespace {

struct Gaps {
  double largest;  // between neighbours, around the whole period; as parts of period / n
  double smallest;
};

Gaps gaps_of(std::vector<double> phases) {
  std::sort(phases.begin(), phases.end());
  Gaps gaps{0, 1};
  for (size_t i = 0; i < phases.size(); ++i) {
    const double next = i + 1 < phases.size() ? phases[i + 1] : phases[0] + 1;
    gaps.largest = std::max(gaps.largest, next - phases[i]);
    gaps.smallest = std::min(gaps.smallest, next - phases[i]);
  }
  const auto n = static_cast<double>(phases.size());
  return {gaps.largest * n, gaps.smallest * n};
}

std::vector<double> phases_of(uint32_t first, uint32_t step, uint32_t n) {
  std::vector<double> phases;
  for (uint32_t i = 0; i < n; ++i) phases.push_back(staggered(first + i * step).part);
  return phases;
}

TEST(Phase, AnyNumberOfChannelsInARowIsSpread) {
  for (const uint32_t first : {0U, 7U, 900U}) {
    for (uint32_t n = 1; n <= 128; ++n) {
      const Gaps gaps = gaps_of(phases_of(first, 1, n));
      EXPECT_LT(gaps.largest, 1.9) << n << " channels from " << first;
      EXPECT_GT(gaps.smallest, 0.44) << n << " channels from " << first;
    }
  }
}

TEST(Phase, EveryNthChannelIsSpreadTooAsWithSeveralDevices) {
  for (uint32_t devices = 2; devices <= 8; ++devices)
    for (uint32_t n = 1; n <= 128; ++n)
      EXPECT_LT(gaps_of(phases_of(devices - 1, devices, n)).largest, 5.5) << n << " channels, " << devices;
}

TEST(Phase, IsAPartOfThePeriodForEveryCell) {
  for (const uint32_t cell : {0U, 1U, 1023U, 1'000'000U, 4'294'967'295U}) {
    EXPECT_GE(staggered(cell).part, 0);
    EXPECT_LT(staggered(cell).part, 1);
  }
  EXPECT_EQ(in_phase().part, 0);
}

TEST(Phase, TheFirstFrameIsDueAtTheNextMomentOfThePhase) {
  EXPECT_EQ(first_due_ns(0, 25, in_phase()), 0);
  EXPECT_EQ(first_due_ns(1, 25, in_phase()), 40'000'000);
  EXPECT_EQ(first_due_ns(40'000'000, 25, in_phase()), 40'000'000);
  EXPECT_EQ(first_due_ns(80'000'001, 25, {.part = 0.25}), 90'000'000);
  EXPECT_EQ(first_due_ns(90'000'001, 25, {.part = 0.25}), 130'000'000);
  EXPECT_EQ(first_due_ns(1, 25, {.part = 1}), 40'000'000);
}

// At 120 frames a second a period is no whole number of nanoseconds.
TEST(Phase, HoldsHoweverFarApartChannelsStart) {
  for (const double fps : {24.0, 30'000.0 / 1001, 59.94, 120.0, 999.0}) {
    for (const Phase& phase : {in_phase(), staggered(1), staggered(63)}) {
      const MonotonicNs early = first_due_ns(3'600'000'000'000, fps, phase);
      const MonotonicNs late = first_due_ns(early + 86'400'000'000'000, fps, phase);
      const uint64_t between = frame_index_at(late - early + 1, fps);
      EXPECT_NEAR(static_cast<double>(late - early - frame_time_ns(between, fps)), 0, 1) << fps;
    }
  }
}

TEST(Phase, SlowChannelsBeginWithinASecond) {
  for (uint32_t cell = 0; cell < 64; ++cell) {
    EXPECT_LE(first_due_ns(123'456'789, 0.001, staggered(cell)) - 123'456'789, 1'000'000'000);
  }
  EXPECT_EQ(first_due_ns(1, 0.001, in_phase()), 1'000'000'000'000) << "at one time means waiting for it";
}

constexpr double kFps = 20;
constexpr MonotonicNs kPeriodNs = 50'000'000;

struct Paced {
  const char* name;
  const char* type;
  Fields fields;
};

class PacedSource : public ::testing::TestWithParam<Paced> {
 protected:
  // Whatever is in another phase than it should be is later by more than a quarter of the period with every frame.
  static void expect_phases(const Phase& first, const Phase& second) {
    const ScratchDirectory scratch;
    Fields fields = GetParam().fields;
    fields.insert_or_assign("fps", kFps);
    if (fields.contains("path")) fields.insert_or_assign("path", scratch.write("film", film()));
    SourceRun a(GetParam().type, fields, HandlingMode::oldest_first_overwrite, 4, first);
    SourceRun b(GetParam().type, fields, HandlingMode::oldest_first_overwrite, 4, second);
    for (SourceRun* run : {&a, &b}) {
      run->open();
      run->start();
    }
    EXPECT_LT(least_late_ns(a, kFps, first), kPeriodNs / 4);
    EXPECT_LT(least_late_ns(b, kFps, second), kPeriodNs / 4);
    // After a stop too, whenever the start comes.
    a.stop();
    a.start();
    EXPECT_LT(least_late_ns(a, kFps, first), kPeriodNs / 4);
  }

 private:
  static std::string film() {
    if (std::string(GetParam().type) == "raw") return std::string(12, 'x');
    return "YUV4MPEG2 W4 H3 F20:1 Cmono\nFRAME\n" + std::string(12, 'x');
  }
};

TEST_P(PacedSource, HasItsFramesWithTheOthersWhereChannelsAreInPhase) {
  expect_phases(in_phase(), in_phase());
}

// Cells 0, 1, 2: at 0, 0.62 and 0.24 of the period.
TEST_P(PacedSource, HasItsFramesApartFromTheOthersWhereChannelsAreStaggered) {
  expect_phases(staggered(0), staggered(1));
  expect_phases(staggered(1), staggered(2));
}

INSTANTIATE_TEST_SUITE_P(
    Types, PacedSource,
    ::testing::Values(Paced{"pattern", "pattern", {{"width", 8.0}, {"height", 4.0}}},
                      Paced{"raw", "raw", {{"path", std::string()}, {"width", 4.0}, {"height", 3.0}, {"loop", true}}},
                      Paced{"y4m", "y4m", {{"path", std::string()}, {"loop", true}}}),
    [](const auto& tested) { return std::string(tested.param.name); });

// A pattern's time stamps are when its frames were due: to the nanosecond, however late its thread was.
TEST(Phase, PatternsAreDueInTheirPhaseExactly) {
  const Fields fields{{"width", 8.0}, {"height", 4.0}, {"fps", 120.0}, {"frames", 3.0}};
  for (const Phase& phase : {in_phase(), staggered(5)}) {
    SourceRun run("pattern", fields, HandlingMode::oldest_first, 4, phase);
    run.open();
    run.start();
    const auto frame = run.next();
    ASSERT_TRUE(frame);
    const MonotonicNs due_ns = frame->meta.device_timestamp_ns;
    EXPECT_EQ(first_due_ns(due_ns - 1'000'000, 120, phase), due_ns);
  }
  Fields own = fields;
  own.insert_or_assign("phase", 0.5);
  SourceRun run("pattern", own, HandlingMode::oldest_first, 4, in_phase());
  run.open();
  run.start();
  const MonotonicNs due_ns = run.next()->meta.device_timestamp_ns;
  EXPECT_EQ(first_due_ns(due_ns - 1'000'000, 120, {.part = 0.5}), due_ns) << "its own field wins";
}

}  // namespace
}  // namespace framelane::io::test
