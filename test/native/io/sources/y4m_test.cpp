#include "io/sources/y4m.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "io/sources/y4m_header.h"
#include "native/io/source_run.h"

namespace framelane::io::test {
namespace {

const std::string kMono = "YUV4MPEG2 W3 H2 F25:1 Ip A1:1 Cmono\n";

Fields y4m(const std::string& path, const Fields& more = {}) {
  Fields fields{{"path", path}, {"pace", std::string("max")}};
  for (const auto& [name, value] : more) fields.insert_or_assign(name, value);
  return fields;
}

// The one frame of a file.
std::vector<int> pixels_of(const std::string& content, const Fields& more = {}) {
  const ScratchDirectory scratch;
  SourceRun run("y4m", y4m(scratch.write("f.y4m", content), more), HandlingMode::oldest_first);
  run.open();
  run.start();
  const auto frames = run.all();
  EXPECT_EQ(frames.size(), 1U);
  std::vector<int> pixels;
  for (const std::byte b : frames.at(0).bytes) pixels.push_back(std::to_integer<int>(b));
  return pixels;
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

void expect_near(const std::vector<int>& got, const std::vector<int>& wanted, int tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << "sample " << i;
}

TEST(Y4m, PlaysMonoAsItIs) {
  const ScratchDirectory scratch;
  SourceRun run("y4m", y4m(scratch.write("f.y4m", kMono + "FRAME\nABCDEFFRAME Ixyz\nabcdef")),
                HandlingMode::oldest_first);
  run.open();
  run.start();
  const auto frames = run.all();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(std::to_integer<char>(frames[1].bytes[0]), 'a');
  EXPECT_EQ(run.format, FrameFormat::packed(PixelFormat::mono8, 3, 2));
  EXPECT_EQ(run.port().end(), End::finished);
  EXPECT_EQ(run.port().lost_all(), 0U);
}

// The primaries at full level in Y'CbCr, from the coefficients in ITU-R BT.601-7 and BT.709-6.
TEST(Y4m, ConvertsThePrimariesOfBt601Limited) {
  const std::string header = "YUV4MPEG2 W5 H1 C444\nFRAME\n";
  const auto rgb = pixels_of(header + bytes({16, 235, 81, 145, 41}) + bytes({128, 128, 90, 54, 240}) +
                             bytes({128, 128, 240, 34, 110}));
  expect_near(rgb, {0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255}, 2);
}

TEST(Y4m, ConvertsWithBt709From720Rows) {
  std::string planes = std::string(720, 63) + std::string(720, 102) + std::string(720, static_cast<char>(240));
  const auto rgb = pixels_of("YUV4MPEG2 W1 H720 C444\nFRAME\n" + planes);
  expect_near({rgb[0], rgb[1], rgb[2]}, {255, 0, 0}, 2);
}

TEST(Y4m, ConvertsFullRange) {
  const auto rgb = pixels_of("YUV4MPEG2 W3 H1 C444 XCOLORRANGE=FULL\nFRAME\n" + bytes({0, 255, 76}) +
                             bytes({128, 128, 85}) + bytes({128, 128, 255}));
  expect_near(rgb, {0, 0, 0, 255, 255, 255, 254, 0, 0}, 1);
}

TEST(Y4m, SpreadsChromaOfOddSizes) {
  // 3x3 in 420: 2x2 chroma samples; the last column and the last row have one of their own.
  const auto rgb = pixels_of("YUV4MPEG2 W3 H3 C420jpeg XCOLORRANGE=FULL\nFRAME\n" + std::string(9, 100) +
                             bytes({128, 228, 128, 128}) + bytes({128, 128, 228, 128}));
  const auto at = [&](size_t x, size_t y) {
    return std::vector<int>{&rgb[(y * 3 + x) * 3], &rgb[(y * 3 + x) * 3] + 3};
  };
  const std::vector<int> grey{100, 100, 100};
  const std::vector<int> blue{100, 66, 255};  // cb 100 over: green -34, blue +177
  const std::vector<int> red{240, 29, 100};   // cr 100 over: red +140, green -71
  expect_near(at(0, 0), grey, 1);
  expect_near(at(1, 1), grey, 1);
  expect_near(at(2, 0), blue, 1);
  expect_near(at(2, 1), blue, 1);
  expect_near(at(0, 2), red, 1);
  expect_near(at(1, 2), red, 1);
  expect_near(at(2, 2), grey, 1);
  const auto wide = pixels_of("YUV4MPEG2 W3 H1 C422 XCOLORRANGE=FULL\nFRAME\n" + std::string(3, 100) +
                              bytes({128, 228}) + bytes({128, 128}));
  expect_near({wide[6], wide[7], wide[8]}, blue, 1);
}

TEST(Y4m, TakesLumaOnlyWhenAskedFor) {
  const auto grey = pixels_of("YUV4MPEG2 W2 H2 C420mpeg2\nFRAME\n" + bytes({16, 235, 126, 5}) + bytes({90, 240}),
                              {{"format", std::string("mono8")}});
  EXPECT_EQ(grey, (std::vector<int>{0, 255, 128, 0}));
}

TEST(Y4m, PlaysMono16) {
  const auto pixels = pixels_of("YUV4MPEG2 W2 H1 Cmono16\nFRAME\n" + bytes({1, 2, 3, 4}));
  EXPECT_EQ(pixels, (std::vector<int>{1, 2, 3, 4}));
}

TEST(Y4m, RoundTripThroughTheFileSinkStaysWithinThreeLevels) {
  const ScratchDirectory scratch;
  for (const uint32_t height : {64U, 720U}) {
    const std::string path = scratch.file("round" + std::to_string(height) + ".y4m");
    const FrameFormat format = FrameFormat::packed(PixelFormat::rgb8, 64, height);
    std::vector<std::byte> picture(format.bytes());
    std::mt19937 random(7);
    for (std::byte& b : picture) b = static_cast<std::byte>(random());
    Result<SinkSpec> spec = make_sink("file", {{"path", path}});
    const auto sink = spec.value().make();
    ResultFrame frame;
    frame.view = {picture.data(), format, MemoryKind::host};
    ASSERT_TRUE(sink->open(format).ok());
    ASSERT_TRUE(sink->write(frame).ok());
    ASSERT_TRUE(sink->close().ok());
    SourceRun run("y4m", y4m(path), HandlingMode::oldest_first);
    run.open();
    ASSERT_EQ(run.format, format);
    run.start();
    const auto frames = run.all();
    ASSERT_EQ(frames.size(), 1U);
    int worst = 0;
    for (size_t i = 0; i < picture.size(); ++i)
      worst = std::max(worst, std::abs(std::to_integer<int>(picture[i]) - std::to_integer<int>(frames[0].bytes[i])));
    EXPECT_LE(worst, 3);
  }
}

TEST(Y4m, ATruncatedFileIsPlayedToItsLastWholeFrame) {
  const ScratchDirectory scratch;
  const std::string whole = kMono + "FRAME\nABCDEFFRAME\nabcdefFRAME\n012345";
  const size_t last = kMono.size() + 24;
  for (size_t cut = last + 1; cut < whole.size(); ++cut) {
    SourceRun run("y4m", y4m(scratch.write("f.y4m", whole.substr(0, cut))), HandlingMode::oldest_first);
    run.open();
    run.start();
    EXPECT_EQ(run.all().size(), 2U) << cut;
    run.stop();
    EXPECT_EQ(run.port().end(), End::finished);
    EXPECT_EQ(run.port().lost_count(LostReason::incomplete), 1U) << cut;
    ASSERT_EQ(run.port().notices.size(), 1U);
    EXPECT_NE(run.port().notices[0].message.find("ends within a frame"), std::string::npos);
  }
}

TEST(Y4m, LoopsWithItsIdsGoingOn) {
  const ScratchDirectory scratch;
  SourceRun run("y4m", y4m(scratch.write("f.y4m", kMono + "FRAME\nABCDEFFRAME\nabcdef"), {{"loop", true}}),
                HandlingMode::oldest_first);
  run.open();
  run.start();
  for (uint64_t id = 0; id < 6; ++id) {
    const auto frame = run.next();
    EXPECT_EQ(frame->meta.frame_id, id);
    EXPECT_EQ(std::to_integer<char>(frame->bytes[0]), id % 2 == 0 ? 'A' : 'a');
    EXPECT_EQ(frame->meta.discontinuity, id > 0 && id % 2 == 0);
  }
}

TEST(Y4m, ADamagedFrameLineIsAnError) {
  const ScratchDirectory scratch;
  SourceRun run("y4m", y4m(scratch.write("f.y4m", kMono + "FRAME\nABCDEFFRUME\nabcdef")), HandlingMode::oldest_first);
  run.open();
  run.start();
  EXPECT_EQ(run.all().size(), 1U);
  EXPECT_EQ(run.port().end(), End::failed);
  EXPECT_EQ(run.port().error().code, ErrorCode::source_malformed);
  EXPECT_NE(run.port().error().message.find("no FRAME line at byte"), std::string::npos);
}

TEST(Y4m, TakesItsRateFromTheFileUnlessToldOtherwise) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("f.y4m", "YUV4MPEG2 W3 H2 F30000:1001 Cmono\nFRAME\nABCDEF");
  SourceRun as_it_says("y4m", {{"path", path}}, HandlingMode::oldest_first);
  as_it_says.open();
  EXPECT_DOUBLE_EQ(as_it_says.source().traits().expected_fps, 30'000.0 / 1001);
  SourceRun told("y4m", {{"path", path}, {"fps", 10.0}}, HandlingMode::oldest_first);
  told.open();
  EXPECT_EQ(told.source().traits().expected_fps, 10);
}

TEST(Y4m, HostileHeadersAreRefusedWithTheReason) {
  const ScratchDirectory scratch;
  const auto error = [&](const std::string& content) {
    const std::string said = open_error("y4m", y4m(scratch.write("f.y4m", content)));
    return said.substr(0, said.find(' ')) + said.substr(std::min(said.size(), said.find("f.y4m") + 5));
  };
  EXPECT_EQ(error(""), "source_malformed: has no YUV4MPEG2 header line of at most 4096 bytes");
  EXPECT_EQ(error(std::string(5000, 'Y')), "source_malformed: has no YUV4MPEG2 header line of at most 4096 bytes");
  EXPECT_EQ(error("RIFF\n"), "source_malformed: does not begin with YUV4MPEG2");
  EXPECT_EQ(error("YUV4MPEG2 H2\n"), "source_malformed: YUV4MPEG2 header: the width is missing");
  for (const char* width : {"0", "-1", "99999999999", "70000", "3x", ""})
    EXPECT_EQ(error(std::string("YUV4MPEG2 W") + width + " H2\n"),
              std::string("source_malformed: YUV4MPEG2 header: the width is '") + width + "', must be 1 to 65535");
  EXPECT_EQ(error("YUV4MPEG2 W2 H2 F25\n"),
            "source_malformed: YUV4MPEG2 header: the frame rate is '25', must be like 25:1");
  EXPECT_EQ(error("YUV4MPEG2 W2 H2 F1:4000000000\n"),
            "source_malformed: YUV4MPEG2 header: a frame rate of '1:4000000000' cannot be played");
  EXPECT_EQ(error("YUV4MPEG2 W65535 H65535 C444\nFRAME\n").rfind("source_malformed holds no whole frame", 0), 0U)
      << "refused before memory is asked for";
  EXPECT_EQ(
      error("YUV4MPEG2 W2 H2 C420p10\nFRAME\nabcdefghijkl"),
      "unsupported: YUV4MPEG2 colour space C'420p10' is not supported: there are 420, 422, 444 with 8 bits, mono, "
      "mono16");
  EXPECT_EQ(open_error("y4m", y4m(scratch.write("g.y4m", kMono + "FRAME\nABCDEF"), {{"format", std::string("rgb8")}})),
            "unsupported " + scratch.file("g.y4m") + " is mono8 and cannot be delivered as rgb8");
}

// Whatever the bytes are: an error or frames, each accounted for, never a crash (run with sanitizers).
TEST(Y4m, SurvivesRandomDamage) {
  const ScratchDirectory scratch;
  const std::string good = "YUV4MPEG2 W5 H3 F25:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n" + std::string(27, 'p') +
                           "FRAME Ib\n" + std::string(27, 'q') + "FRAME\n" + std::string(27, 'r');
  std::mt19937 random(20'240'229);
  int opened = 0;
  for (int round = 0; round < 600; ++round) {
    std::string bad = good;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % bad.size();
      switch (random() % 4) {
        case 0: bad[at] = static_cast<char>(random()); break;
        case 1: bad.erase(at, 1 + random() % 8); break;
        case 2: bad.insert(at, bad.substr(random() % bad.size(), random() % 16)); break;
        default: bad[at] = "0123456789 \n:WHFC"[random() % 17]; break;
      }
      if (bad.empty()) bad = "Y";
    }
    auto made = make_source("y4m", y4m(scratch.write("f.y4m", bad)));
    ASSERT_TRUE(made.ok());
    const auto format = made.value()->open();
    if (!format) {
      EXPECT_FALSE(format.error().message.empty());
      continue;
    }
    ++opened;
    ASSERT_LE(format.value().bytes(), 8U * bad.size()) << "a file cannot ask for more than it holds";
    SourceRun run("y4m", y4m(scratch.file("f.y4m")), HandlingMode::oldest_first);
    run.open();
    run.start();
    (void)run.all();
    EXPECT_TRUE(run.port().over());
  }
  EXPECT_GT(opened, 50) << "the damage is meant to be subtle enough to be played";
}

}  // namespace
}  // namespace framelane::io::test
