#include <algorithm>

#include "io/sources/pattern_stamp.h"
#include "native/io/source_run.h"

namespace framelane::io::test {
namespace {

constexpr uint32_t kWidth = 170, kHeight = 150;
constexpr size_t kBytes = size_t{kWidth} * kHeight;
constexpr size_t kLast = kBytes - 1, kBesideStamp = 165, kNearStamp = 100;

std::string picture(char grey) {
  return std::string(kBytes, grey);
}

// A frame with the stamp of `id`, on one grey.
struct Stamped {
  explicit Stamped(uint64_t id, char grey, uint32_t stamp) : bytes(kBytes, static_cast<std::byte>(grey)) {
    const FrameFormat format = FrameFormat::packed(PixelFormat::mono8, kWidth, kHeight);
    write_stamp(bytes.data(), format, stamp);
    result.view = {bytes.data(), format, MemoryKind::host};
    result.meta.frame_id = id;
  }
  std::vector<std::byte> bytes;
  ResultFrame result;
};

class CompareSink : public ::testing::Test {
 protected:
  // What the sink says to a frame that differs by `levels` at one place from the second of two pictures.
  Status write(uint64_t id, uint32_t stamp, size_t place, int levels, double tolerance = 1) {
    const Fields fields{{"path", scratch_.write("right.raw", picture(10) + picture(90))}, {"tolerance", tolerance}};
    const auto sink = make_sink("compare", fields).take().make();
    Stamped frame(id, 90, stamp);
    frame.bytes[place] = static_cast<std::byte>(90 + levels);
    if (Status opened = sink->open(frame.result.view.format); !opened) return opened;
    const Status written = sink->write(frame.result);
    EXPECT_TRUE(sink->close().ok());
    return written;
  }
  const ScratchDirectory scratch_;
};

TEST_F(CompareSink, AFrameIsOneOfThePicturesToWithinTheTolerance) {
  EXPECT_TRUE(write(7, 7, kLast, 0).ok());
  EXPECT_TRUE(write(7, 7, kLast, 1).ok());
  EXPECT_TRUE(write(7, 7, kLast, -1).ok());
  EXPECT_FALSE(write(7, 7, kLast, 1, 0).ok());
  for (const size_t place : {kLast, kBesideStamp}) {
    const Status written = write(7, 7, place, -3);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code, ErrorCode::sink_failed);
    EXPECT_EQ(written.error().message, "frame 7 differs by 3 grey levels");
  }
}

TEST_F(CompareSink, WhatTheStampSpreadsIsLeftOut) {
  EXPECT_TRUE(write(7, 7, kNearStamp, 50).ok());
}

TEST_F(CompareSink, AnotherFramesResultIsNone) {
  const Status written = write(8, 7, kLast, 0);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "frame 8 holds the result of frame 7");
}

TEST_F(CompareSink, WhatItCannotCompareItRefuses) {
  const auto open = [&](const std::string& right, PixelFormat pixel, uint32_t width) {
    const auto sink = make_sink("compare", Fields{{"path", right}}).take().make();
    return sink->open(FrameFormat::packed(pixel, width, kHeight));
  };
  const std::string right = scratch_.write("right.raw", picture(10));
  EXPECT_TRUE(open(right, PixelFormat::mono8, kWidth).ok());
  EXPECT_EQ(open(right, PixelFormat::mono32f, kWidth).error().code, ErrorCode::unsupported);
  EXPECT_EQ(open(right, PixelFormat::rgb8_planar, kWidth).error().code, ErrorCode::unsupported);
  EXPECT_EQ(open(right, PixelFormat::mono8, 160).error().code, ErrorCode::unsupported);
  EXPECT_EQ(open(right, PixelFormat::mono8, kWidth + 1).error().code, ErrorCode::sink_failed);
  EXPECT_EQ(open(scratch_.write("empty.raw", ""), PixelFormat::mono8, kWidth).error().code, ErrorCode::sink_failed);
  EXPECT_EQ(open(scratch_.file("missing.raw"), PixelFormat::mono8, kWidth).error().code, ErrorCode::sink_failed);
  EXPECT_EQ(make_sink("compare", {}).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace framelane::io::test
