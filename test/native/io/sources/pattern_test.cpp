#include "io/sources/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "io/sources/pattern_stamp.h"
#include "native/io/source_run.h"

namespace framelane::io::test {
namespace {

Fields picture(double width, double height, const std::string& format = "mono8") {
  return {{"width", width}, {"height", height}, {"format", format}};
}

Fields with(Fields fields, const Fields& more) {
  for (const auto& [name, value] : more) fields.insert_or_assign(name, value);
  return fields;
}

TEST(Pattern, EveryFormatCarriesItsFrameIdAndAPicture) {
  for (size_t i = 0; i < kPixelFormatCount; ++i) {
    const std::string name(info(static_cast<PixelFormat>(i)).name);
    SourceRun run("pattern", with(picture(65, 33, name), {{"fps", 0.0}, {"frames", 11.0}}), HandlingMode::oldest_first);
    run.open();
    run.start();
    const auto frames = run.all();
    ASSERT_EQ(frames.size(), 11U) << name;
    for (size_t id = 0; id < frames.size(); ++id) {
      EXPECT_EQ(frames[id].meta.frame_id, id) << name;
      EXPECT_EQ(read_stamp(frames[id].bytes.data(), run.format), id) << name;
      EXPECT_EQ(frames[id].meta.size_bytes, run.format.bytes());
      const std::byte first = frames[id].bytes[run.format.bytes() - 1];
      const bool flat = std::all_of(frames[id].bytes.begin() + static_cast<std::ptrdiff_t>(run.format.bytes() / 2),
                                    frames[id].bytes.end(), [first](std::byte b) { return b == first; });
      EXPECT_FALSE(flat) << name << " has no picture";
    }
    EXPECT_EQ(run.port().end(), End::finished);
    EXPECT_EQ(run.port().lost_all(), 0U);
  }
}

TEST(Pattern, StampHoldsEveryBitInEveryFormat) {
  for (size_t i = 0; i < kPixelFormatCount; ++i) {
    for (const uint32_t width : {8U, 32U, 100U}) {
      const FrameFormat format = FrameFormat::packed(static_cast<PixelFormat>(i), width, 16);
      std::vector<std::byte> frame(format.bytes(), std::byte{0x55});
      for (uint32_t bit = 0; bit < 32; ++bit) {
        write_stamp(frame.data(), format, 1U << bit);
        EXPECT_EQ(read_stamp(frame.data(), format), 1U << bit);
        write_stamp(frame.data(), format, ~(1U << bit));
        EXPECT_EQ(read_stamp(frame.data(), format), ~(1U << bit));
      }
    }
  }
}

TEST(Pattern, ATinyFrameCarriesNoStampAndIsLeftAlone) {
  const FrameFormat format = FrameFormat::packed(PixelFormat::rgb32f, 7, 3);
  std::vector<std::byte> frame(format.bytes(), std::byte{7});
  write_stamp(frame.data(), format, 0xffff'ffff);
  EXPECT_TRUE(std::all_of(frame.begin(), frame.end(), [](std::byte b) { return b == std::byte{7}; }));
  EXPECT_EQ(read_stamp(frame.data(), format), std::nullopt);
  SourceRun run("pattern", with(picture(1, 1), {{"fps", 0.0}, {"frames", 3.0}}), HandlingMode::oldest_first);
  run.open();
  run.start();
  EXPECT_EQ(run.all().size(), 3U);
}

TEST(Pattern, IsPacedWithoutDrift) {
  constexpr double kFps = 200;
  SourceRun run("pattern", with(picture(64, 48), {{"fps", kFps}, {"frames", 100.0}}), HandlingMode::oldest_first, 64);
  run.open();
  EXPECT_EQ(run.source().traits().expected_fps, kFps);
  EXPECT_TRUE(run.source().traits().live);
  run.start();
  const auto frames = run.all();
  ASSERT_EQ(frames.size() + run.port().lost_all(), 100U);
  ASSERT_GT(frames.size(), 1U);
  const FrameMeta first = frames.front().meta;
  for (const TakenFrame& frame : frames) {
    // Due times are exact: the n-th frame's is n periods after the first one's, whatever happened in between.
    const auto periods = static_cast<MonotonicNs>(frame.meta.frame_id - first.frame_id);
    EXPECT_EQ(frame.meta.device_timestamp_ns - first.device_timestamp_ns, periods * 5'000'000);
    EXPECT_GE(frame.meta.arrival_ns, frame.meta.device_timestamp_ns) << "a frame before its time";
  }
  // Half of the frames within a millisecond also on a busy machine.
  std::vector<MonotonicNs> late;
  for (const TakenFrame& frame : frames) late.push_back(frame.meta.arrival_ns - frame.meta.device_timestamp_ns);
  std::nth_element(late.begin(), late.begin() + static_cast<std::ptrdiff_t>(late.size() / 2), late.end());
  EXPECT_LT(late[late.size() / 2], 2'500'000);
}

TEST(Pattern, PhasesSpreadChannelsOverOnePeriod) {
  constexpr MonotonicNs kPeriodNs = 50'000'000;
  std::array<MonotonicNs, 2> due{};
  for (size_t i = 0; i < due.size(); ++i) {
    SourceRun run("pattern", with(picture(8, 4), {{"fps", 20.0}, {"frames", 1.0}, {"phase", i == 0 ? 0.0 : 0.25}}),
                  HandlingMode::oldest_first);
    run.open();
    run.start();
    due[i] = run.next()->meta.device_timestamp_ns % kPeriodNs;
  }
  EXPECT_EQ(due[1] - due[0], kPeriodNs / 4);
}

TEST(Pattern, CountsEveryFrameThatHasNoPlace) {
  // Nobody takes a frame: 4 are received, the others have no place.
  SourceRun run("pattern", with(picture(64, 48), {{"fps", 1000.0}, {"frames", 50.0}}), HandlingMode::oldest_first);
  run.open();
  run.start();
  const MonotonicNs deadline_ns = monotonic_now_ns() + kPatienceNs;
  while (!run.port().over() && monotonic_now_ns() < deadline_ns) run.ring().wait_full(monotonic_now_ns() + 1'000'000);
  EXPECT_EQ(run.port().end(), End::finished);
  EXPECT_EQ(run.port().received, 4U);
  EXPECT_EQ(run.port().received + run.port().lost_all(), 50U);
}

TEST(Pattern, FramesOfAPeriodThatNoThreadSawAreCounted) {
  // Far faster than any thread can wake: periods pass unseen, and every one of them is accounted for.
  SourceRun run("pattern", with(picture(32, 16), {{"fps", 100'000.0}, {"frames", 20'000.0}}),
                HandlingMode::oldest_first_overwrite);
  run.open();
  run.start();
  uint64_t taken = 0;
  uint64_t last = 0;
  while (const auto frame = run.next()) {
    EXPECT_EQ(read_stamp(frame->bytes.data(), run.format), frame->meta.frame_id);
    EXPECT_TRUE(taken == 0 || frame->meta.frame_id > last);
    last = frame->meta.frame_id;
    ++taken;
  }
  EXPECT_EQ(run.port().received + run.port().lost_all(), 20'000U);
  EXPECT_EQ(taken + run.port().dropped, run.port().received);
}

TEST(Pattern, StopsInTheMiddleOfALongPeriodAndCarriesOn) {
  SourceRun run("pattern", with(picture(32, 16), {{"fps", 0.001}}), HandlingMode::oldest_first_overwrite);
  run.open();
  run.start();
  EXPECT_EQ(run.next()->meta.frame_id, 0U);
  const MonotonicNs before_ns = monotonic_now_ns();
  run.stop();
  EXPECT_LT(monotonic_now_ns() - before_ns, 5'000'000'000);
  run.start();
  const auto frame = run.next();
  EXPECT_EQ(frame->meta.frame_id, 1U);
  EXPECT_TRUE(frame->meta.discontinuity);
}

TEST(Pattern, StopsWhileItWaitsForASlot) {
  SourceRun run("pattern", with(picture(32, 16), {{"pace", std::string("max")}}), HandlingMode::oldest_first);
  run.open();
  EXPECT_TRUE(run.source().traits().paced_max);
  run.start();
  const MonotonicNs deadline_ns = monotonic_now_ns() + kPatienceNs;
  while (run.ring().full() < 4 && monotonic_now_ns() < deadline_ns)
    run.ring().wait_full(monotonic_now_ns() + 1'000'000);
  run.stop();
  EXPECT_EQ(run.port().received, 4U);
  EXPECT_EQ(run.port().lost_all(), 0U);
}

TEST(Pattern, SlotsInTurnMoveThePicture) {
  for (const bool moving : {true, false}) {
    SourceRun run("pattern", with(picture(64, 64), {{"fps", 0.0}, {"frames", 2.0}, {"moving", moving}}),
                  HandlingMode::oldest_first);
    run.open();
    run.start();
    const auto frames = run.all();
    ASSERT_EQ(frames.size(), 2U);
    const size_t below_stamp = 32 * run.format.row_stride_bytes;
    const size_t rest = run.format.bytes() - below_stamp;
    EXPECT_EQ(std::memcmp(&frames[0].bytes[below_stamp], &frames[1].bytes[below_stamp], rest) != 0, moving);
  }
}

TEST(Pattern, RefusesFieldsThatMakeNoSense) {
  const auto message = [](const Fields& fields) {
    const auto made = make_source("pattern", fields);
    return made ? std::string("accepted") : std::string(to_string(made.error().code)) + " " + made.error().message;
  };
  EXPECT_EQ(message({{"height", 4.0}, {"fps", 1.0}}), "invalid_argument pattern: 'width' is missing");
  EXPECT_EQ(message(with(picture(4, 4), {})), "invalid_argument pattern: 'fps' is missing");
  EXPECT_EQ(message(with(picture(0, 4), {{"fps", 1.0}})),
            "invalid_argument pattern: 'width' must be a whole number from 1 to 65535");
  EXPECT_EQ(message(with(picture(4.5, 4), {{"fps", 1.0}})),
            "invalid_argument pattern: 'width' must be a whole number from 1 to 65535");
  EXPECT_EQ(message(with(picture(4, 4, "rgb9"), {{"fps", 1.0}})),
            "invalid_argument pattern: there is no pixel format 'rgb9'");
  EXPECT_EQ(message(with(picture(4, 4), {{"fps", std::nan("")}})),
            "invalid_argument pattern: 'fps' must be a number from 0 to 100000");
  EXPECT_EQ(message(with(picture(4, 4), {{"fps", true}})), "invalid_argument pattern: 'fps' must be a number");
  EXPECT_EQ(message(with(picture(4, 4), {{"fps", 1.0}, {"colour", 1.0}})),
            "invalid_argument pattern: there is no field 'colour'");
  EXPECT_EQ(message(with(picture(4, 4), {{"fps", 1.0}, {"pattern", std::string("dots")}})),
            "invalid_argument pattern: 'pattern' is 'dots', must be one of gradient, checker, noise, bars");
}

}  // namespace
}  // namespace framelane::io::test
