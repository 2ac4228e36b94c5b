#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "io/plugin.h"
#include "io/shm/unique_fd.h"
#include "native/io/source_run.h"
#include "native/io/sources/ffmpeg_film.h"

namespace framelane::io::test {
namespace {

Fields film(const std::string& url, const Fields& more = {}) {
  Fields fields{{"url", url}, {"pace", std::string("max")}};
  for (const auto& [name, value] : more) fields.insert_or_assign(name, value);
  return fields;
}

int first_sample(const TakenFrame& frame) {
  return std::to_integer<int>(frame.bytes.at(0));
}

// What a luma level of a limited-range film is in grey.
int grey_of(int luma) {
  return static_cast<int>((luma - 16) * 255.0 / 219 + 0.5);
}

TEST(Ffmpeg, DeliversEveryFrameOfAFilm) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("film.m2v", make_mpeg2_film({{64, 48, 12}}));
  for (const bool odd_format : {false, true}) {
    SourceRun run("ffmpeg", film(path, {{"format", std::string(odd_format ? "rgb16_planar" : "rgb8")}}),
                  HandlingMode::oldest_first);
    run.open();
    EXPECT_EQ(run.format.width, 64U);
    EXPECT_FALSE(run.source().traits().live);
    run.start();
    const auto frames = run.all();
    ASSERT_EQ(frames.size(), 12U);
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(frames[i].meta.frame_id, i);
      const int sample = odd_format ? std::to_integer<int>(frames[i].bytes[1]) : first_sample(frames[i]);
      EXPECT_NEAR(sample, grey_of(16 + 10 * static_cast<int>(i)), 3);
    }
    EXPECT_EQ(run.port().end(), End::finished);
    EXPECT_EQ(run.port().lost_all(), 0U);
  }
}

TEST(Ffmpeg, NumberedImagesAreAFilm) {
  const ScratchDirectory scratch;
  for (char level = 0; level < 5; ++level)
    (void)scratch.write("f" + std::to_string(level) + ".pgm",
                        "P5 8 4 255\n" + std::string(32, static_cast<char>('0' + level)));
  SourceRun run("ffmpeg",
                film(scratch.file("f%d.pgm"), {{"format", std::string("mono8")}, {"pace", std::string("realtime")}}),
                HandlingMode::oldest_first);
  run.open();
  EXPECT_FALSE(run.source().traits().live) << "the ring holds every one of them, at its time";
  run.start();
  EXPECT_EQ(run.all().size(), 5U);
  EXPECT_EQ(run.port().end(), End::finished);
}

TEST(Ffmpeg, NeverWritesPastTheFrame) {
  // Widths that are no multiple of a vector; the ring's slots follow each other, so a guard needs rows of its own.
  const ScratchDirectory scratch;
  for (const int width : {34, 46, 50, 62}) {
    const std::string path = scratch.write("film.m2v", make_mpeg2_film({{width, 34, 3}}));
    for (const char* format : {"rgb8", "mono8", "rgb8_planar", "mono32f"}) {
      SourceRun run("ffmpeg", film(path, {{"format", std::string(format)}}), HandlingMode::oldest_first);
      run.open();
      const size_t capacity = run.ring().slot_stride_bytes();
      for (SlotIndex slot = 0; slot < run.ring().slots(); ++slot)
        std::fill_n(run.ring().slot_data(slot), capacity, std::byte{0xa5});
      run.start();
      EXPECT_EQ(run.all().size(), 3U);
      run.stop();
      for (SlotIndex slot = 0; slot < run.ring().slots(); ++slot) {
        for (size_t i = run.format.bytes(); i < capacity; ++i)
          ASSERT_EQ(run.ring().slot_data(slot)[i], std::byte{0xa5}) << format << " " << width << " byte " << i;
      }
      const std::byte last = run.ring().slot_data(0)[run.format.row_stride_bytes - 1];
      EXPECT_NE(last, std::byte{0xa5}) << "the last pixel of a row is written, too";
    }
  }
}

TEST(Ffmpeg, AChangeOfSizeMidwayHoldsTheFrame) {
  const ScratchDirectory scratch;
  SourceRun run("ffmpeg", film(scratch.write("film.m2v", make_mpeg2_film({{64, 48, 5}, {96, 64, 4}}))),
                HandlingMode::oldest_first);
  run.open();
  run.start();
  auto frames = run.all();
  EXPECT_EQ(frames.size(), 5U);
  ASSERT_EQ(run.port().end(), End::format_changed);
  EXPECT_EQ(run.port().new_format(), FrameFormat::packed(PixelFormat::rgb8, 96, 64));
  run.stop();
  run.format = run.port().new_format();
  run.prepare();
  run.start();
  frames = run.all();
  ASSERT_EQ(frames.size(), 4U);
  EXPECT_EQ(frames[0].meta.frame_id, 5U);
  EXPECT_NEAR(first_sample(frames[0]), grey_of(66), 3);
  EXPECT_EQ(run.port().end(), End::finished);
}

TEST(Ffmpeg, LoopsFromTheFirstFrame) {
  const ScratchDirectory scratch;
  SourceRun run("ffmpeg", film(scratch.write("film.m2v", make_mpeg2_film({{64, 48, 4}})), {{"loop", true}}),
                HandlingMode::oldest_first);
  run.open();
  run.start();
  MonotonicNs last_ns = -1;
  for (int i = 0; i < 11; ++i) {
    const auto frame = run.next();
    EXPECT_NEAR(first_sample(*frame), grey_of(16 + 10 * (i % 4)), 3) << i;
    EXPECT_GT(frame->meta.device_timestamp_ns, last_ns);
    last_ns = frame->meta.device_timestamp_ns;
  }
}

TEST(Ffmpeg, AFilmIsPlayedInItsPhase) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("film.m2v", make_mpeg2_film({{64, 48, 6}}));
  for (const Phase& phase : {in_phase(), staggered(1), staggered(2)}) {
    SourceRun run("ffmpeg", film(path, {{"pace", std::string("realtime")}, {"loop", true}}),
                  HandlingMode::oldest_first_overwrite, 4, phase);
    run.open();
    run.start();
    EXPECT_LT(least_late_ns(run, 25, phase), 40'000'000 / 4);
  }
}

TEST(Ffmpeg, PlaysAtTheFilmsRate) {
  const ScratchDirectory scratch;
  SourceRun run("ffmpeg",
                film(scratch.write("film.m2v", make_mpeg2_film({{64, 48, 6}})), {{"pace", std::string("realtime")}}),
                HandlingMode::oldest_first, 16);
  run.open();
  EXPECT_EQ(run.source().traits().expected_fps, 25);
  run.start();
  const auto frames = run.all();
  ASSERT_EQ(frames.size(), 6U);
  EXPECT_GE(frames[5].meta.arrival_ns - frames[0].meta.arrival_ns, 5 * 40'000'000 - 20'000'000);
}

TEST(Ffmpeg, CarriesOnWhereItWasStopped) {
  const ScratchDirectory scratch;
  SourceRun run("ffmpeg", film(scratch.write("film.m2v", make_mpeg2_film({{64, 48, 12}}))), HandlingMode::oldest_first,
                2);
  run.open();
  run.start();
  uint64_t seen = 0;
  EXPECT_EQ(run.next()->meta.frame_id, seen++);
  run.stop();
  while (const auto filled = run.ring().take()) {
    EXPECT_EQ(filled->meta.frame_id, seen++);
    run.ring().release(filled->index);
  }
  run.start();
  for (const TakenFrame& frame : run.all()) EXPECT_EQ(frame.meta.frame_id, seen++);
  EXPECT_EQ(seen, 12U);
}

TEST(Ffmpeg, EveryFrameOfADamagedFilmIsDeliveredOrCounted) {
  const ScratchDirectory scratch;
  std::string bytes = make_mpeg2_film({{64, 48, 12}});
  for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + bytes.size() / 6; ++i) bytes[i] = static_cast<char>(0x5a);
  SourceRun run("ffmpeg", film(scratch.write("film.m2v", bytes)), HandlingMode::oldest_first);
  run.open();
  run.start();
  const size_t delivered = run.all().size();
  run.stop();
  EXPECT_LT(delivered, 12U);
  EXPECT_GT(delivered, 4U);
  EXPECT_GT(run.port().lost_count(LostReason::incomplete), 0U);
  EXPECT_FALSE(run.port().notices.empty());
}

TEST(Ffmpeg, SaysInFfmpegsWordsWhyAFilmCannotBePlayed) {
  const ScratchDirectory scratch;
  EXPECT_EQ(open_error("ffmpeg", film(scratch.file("none.mp4"))),
            "source_unavailable cannot open " + scratch.file("none.mp4") + ": No such file or directory");
  const std::string text = scratch.write("text.mp4", "this is no film at all");
  EXPECT_EQ(open_error("ffmpeg", film(text)).rfind("source_malformed cannot open " + text + ": Invalid data found", 0),
            0U)
      << open_error("ffmpeg", film(text));
  EXPECT_EQ(open_error("ffmpeg", film(text, {{"format", std::string("rgb32f")}})),
            "ffmpeg: FFmpeg cannot deliver rgb32f: use rgb32f_planar");
}

// A server that accepts (the kernel does, for it) and never answers.
class SilentServer {
 public:
  SilentServer() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd_.get(), 4), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

 private:
  UniqueFd fd_;
  uint16_t port_ = 0;
};

TEST(Ffmpeg, GivesUpOnASilentPeer) {
  const SilentServer server;
  const std::string said = open_error("ffmpeg", film(server.url(), {{"timeout", 0.1}}));
  EXPECT_EQ(said, "source_unavailable cannot open " + server.url() + ": nothing came for 100 ms");
}

TEST(Ffmpeg, AnOpenThatBlocksCanBeInterrupted) {
  const SilentServer server;
  auto made = make_source("ffmpeg", film(server.url(), {{"timeout", 3600.0}}));
  ASSERT_TRUE(made.ok());
  std::thread interrupter([&] { made.value()->interrupt(); });
  EXPECT_FALSE(made.value()->open().ok());
  interrupter.join();
}

TEST(Ffmpeg, APipeWithoutAWriterHoldsNothingUp) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(open_error("ffmpeg", film(path, {{"timeout", 0.05}})),
            "source_unavailable cannot open " + path + ": nothing came for 50 ms");
  auto made = make_source("ffmpeg", film("file:" + path, {{"timeout", 3600.0}}));
  ASSERT_TRUE(made.ok());
  std::thread interrupter([&] { made.value()->interrupt(); });
  EXPECT_FALSE(made.value()->open().ok());
  interrupter.join();
}

TEST(Ffmpeg, PlaysAFilmThatComesThroughAPipe) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << make_mpeg2_film({{64, 48, 12}}); });
  SourceRun run("ffmpeg", film(path), HandlingMode::oldest_first);
  run.open();
  run.start();
  EXPECT_EQ(run.all().size(), 12U);
  EXPECT_EQ(run.port().end(), End::finished);
  writer.join();
}

TEST(Plugins, AMissingPluginNamesThePackages) {
  const char* before = std::getenv("FRAMELANE_PLUGIN_PATH");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("FRAMELANE_PLUGIN_PATH", "/nowhere", 1);
  const std::string said = open_error("ffmpeg", film("x"));
  if (before == nullptr)
    ::unsetenv("FRAMELANE_PLUGIN_PATH");
  else
    ::setenv("FRAMELANE_PLUGIN_PATH", kept.c_str(), 1);
  EXPECT_EQ(said,
            "this build has no ffmpeg source (there is no /nowhere/ffmpeg.so): install libavformat-dev libavcodec-dev "
            "libavutil-dev libswscale-dev pkg-config and build again; scripts/setup-dev does both");
}

}  // namespace
}  // namespace framelane::io::test
