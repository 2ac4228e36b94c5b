#include "io/sources/raw.h"

#include <sys/stat.h>

#include "native/io/source_run.h"

namespace framelane::io::test {
namespace {

constexpr size_t kFrameBytes = 6;

Fields raw(const std::string& path, const Fields& more = {}) {
  Fields fields{{"path", path}, {"width", 3.0}, {"height", 2.0}, {"pace", std::string("max")}};
  for (const auto& [name, value] : more) fields.insert_or_assign(name, value);
  return fields;
}

std::string text(const TakenFrame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes.data()), frame.meta.size_bytes};
}

TEST(Raw, DeliversFrameAfterFrameAndFinishes) {
  const ScratchDirectory scratch;
  SourceRun run("raw", raw(scratch.write("f.raw", "headABCDEFabcdef012345"), {{"header_bytes", 4.0}}),
                HandlingMode::oldest_first);
  run.open();
  EXPECT_FALSE(run.source().traits().live);
  run.start();
  const auto frames = run.all();
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(text(frames[0]), "ABCDEF");
  EXPECT_EQ(text(frames[2]), "012345");
  EXPECT_EQ(frames[2].meta.frame_id, 2U);
  EXPECT_EQ(run.port().end(), End::finished);
  EXPECT_EQ(run.port().lost_all(), 0U);
}

TEST(Raw, APartialLastFrameIsOneLostFrame) {
  const ScratchDirectory scratch;
  SourceRun run("raw", raw(scratch.write("f.raw", "ABCDEFabcd")), HandlingMode::oldest_first);
  run.open();
  run.start();
  EXPECT_EQ(run.all().size(), 1U);
  run.stop();
  EXPECT_EQ(run.port().end(), End::finished);
  EXPECT_EQ(run.port().lost_count(LostReason::incomplete), 1U);
  ASSERT_EQ(run.port().notices.size(), 1U);
  EXPECT_NE(run.port().notices[0].message.find("ends within a frame: 4 of 6 bytes"), std::string::npos);
}

TEST(Raw, LoopsAndCountsThePartialFrameOnce) {
  const ScratchDirectory scratch;
  SourceRun run("raw", raw(scratch.write("f.raw", "ABCDEFabcdefXY"), {{"loop", true}}), HandlingMode::oldest_first);
  run.open();
  run.start();
  std::string seen;
  for (int i = 0; i < 7; ++i) seen += text(*run.next())[0];
  EXPECT_EQ(seen, "AaAaAaA");
  run.stop();
  EXPECT_EQ(run.port().lost_count(LostReason::incomplete), 1U);
}

TEST(Raw, CarriesOnWhereItWasStopped) {
  const ScratchDirectory scratch;
  std::string content;
  for (char c = 'a'; c <= 'z'; ++c) content += std::string(kFrameBytes, c);
  SourceRun run("raw", raw(scratch.write("f.raw", content)), HandlingMode::oldest_first, 2);
  run.open();
  run.start();
  std::string seen;
  seen += text(*run.next())[0];
  run.stop();
  while (const auto filled = run.ring().take()) {
    seen += static_cast<char>(*filled->data);
    run.ring().release(filled->index);
  }
  run.start();
  for (const TakenFrame& frame : run.all()) seen += text(frame)[0];
  EXPECT_EQ(seen, "abcdefghijklmnopqrstuvwxyz");
}

TEST(Raw, RealtimeKeepsItsRateAndCountsWhatFindsNoPlace) {
  const ScratchDirectory scratch;
  SourceRun run("raw",
                raw(scratch.write("f.raw", std::string(kFrameBytes * 20, 'x')),
                    {{"pace", std::string("realtime")}, {"fps", 200.0}}),
                HandlingMode::oldest_first, 4);
  run.open();
  EXPECT_EQ(run.source().traits().expected_fps, 200);
  const MonotonicNs before_ns = monotonic_now_ns();
  run.start();
  const MonotonicNs deadline_ns = before_ns + kPatienceNs;
  while (!run.port().over() && monotonic_now_ns() < deadline_ns) run.ring().wait_full(monotonic_now_ns() + 1'000'000);
  EXPECT_GE(monotonic_now_ns() - before_ns, 19 * 5'000'000);
  EXPECT_EQ(run.port().received, 4U);
  EXPECT_EQ(run.port().lost_count(LostReason::ring_full), 16U);
}

TEST(Raw, SaysWhyAFileCannotBePlayed) {
  const ScratchDirectory scratch;
  const std::string pipe = scratch.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(open_error("raw", raw(scratch.file("none"))),
            "source_unavailable cannot open " + scratch.file("none") + ": No such file or directory");
  EXPECT_EQ(open_error("raw", raw(scratch.path())),
            "source_unavailable cannot play " + scratch.path() + ": it is a directory");
  EXPECT_EQ(open_error("raw", raw(pipe)), "source_unavailable cannot play " + pipe + ": it is no regular file");
  const std::string small = scratch.write("small", "ABCDE");
  EXPECT_EQ(open_error("raw", raw(small)),
            "source_malformed " + small + " holds 5 bytes, not one whole frame of mono8 3x2 (6 bytes)");
}

}  // namespace
}  // namespace framelane::io::test
