#include "io/sinks/file.h"

#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "io/shm/unique_fd.h"
#include "io/sinks/file_path.h"
#include "native/io/source_run.h"

namespace framelane::io::test {
namespace {

std::unique_ptr<Sink> file_sink(const Fields& fields) {
  Result<SinkSpec> spec = make_sink("file", fields);
  if (!spec) {
    ADD_FAILURE() << spec.error().message;
    std::abort();
  }
  return spec.value().make();
}

// A frame whose bytes count up from `start`.
struct Picture {
  Picture(PixelFormat pixel, uint32_t width, uint32_t height, uint8_t start)
      : format(FrameFormat::packed(pixel, width, height)), bytes(format.bytes()) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(start + i);
  }
  [[nodiscard]] ResultFrame result(uint64_t sequence) {
    ResultFrame frame;
    frame.view = {bytes.data(), format, MemoryKind::host};
    frame.sequence = sequence;
    return frame;
  }
  [[nodiscard]] std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

  FrameFormat format;
  std::vector<std::byte> bytes;
};

std::vector<std::string> names_in(const ScratchDirectory& scratch) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST(FileSink, AFileHasItsNameOnceItIsComplete) {
  const ScratchDirectory scratch;
  const auto sink = file_sink({{"path", scratch.file("out.raw")}});
  Picture picture(PixelFormat::mono8, 4, 2, 'a');
  ASSERT_TRUE(sink->open(picture.format).ok());
  ASSERT_TRUE(sink->write(picture.result(0)).ok());
  ASSERT_TRUE(sink->write(picture.result(1)).ok());
  EXPECT_EQ(names_in(scratch), Names{"out.raw.part"});
  ASSERT_TRUE(sink->close().ok());
  EXPECT_EQ(names_in(scratch), Names{"out.raw"});
  EXPECT_EQ(content_of(scratch.file("out.raw")), "abcdefghabcdefgh");
}

TEST(FileSink, RawTakesEveryFormatAndPaddedRows) {
  for (size_t i = 0; i < kPixelFormatCount; ++i) {
    const ScratchDirectory scratch;
    const auto sink = file_sink({{"path", scratch.file("out.bin")}});
    Picture picture(static_cast<PixelFormat>(i), 5, 3, 1);
    ASSERT_TRUE(sink->open(picture.format).ok());
    ASSERT_TRUE(sink->write(picture.result(0)).ok());
    // The same frame with padding after each row and each plane.
    FrameFormat padded = picture.format;
    const size_t row = padded.row_stride_bytes;
    const size_t planes = padded.plane_stride_bytes == 0 ? 1 : 3;
    padded.row_stride_bytes = row + 7;
    if (planes == 3) padded.plane_stride_bytes = padded.row_stride_bytes * 3 + 5;
    std::vector<std::byte> bytes(padded.bytes() + 5, std::byte{0xee});
    for (size_t plane = 0; plane < planes; ++plane) {
      for (size_t y = 0; y < 3; ++y)
        std::copy_n(&picture.bytes[plane * picture.format.plane_stride_bytes + y * row], row,
                    &bytes[plane * padded.plane_stride_bytes + y * padded.row_stride_bytes]);
    }
    ResultFrame frame = picture.result(1);
    frame.view = {bytes.data(), padded, MemoryKind::host};
    ASSERT_TRUE(sink->write(frame).ok());
    ASSERT_TRUE(sink->close().ok());
    EXPECT_EQ(content_of(scratch.file("out.bin")), picture.text() + picture.text()) << i;
  }
}

TEST(FileSink, NumbersOneFilePerFrame) {
  const ScratchDirectory scratch;
  (void)scratch.write("f-0007.raw.part", "half");  // of a crashed run
  (void)scratch.write("f-x.raw.part", "somebody else's");
  const auto sink = file_sink({{"path", scratch.file("f-%04d.raw")}, {"sync", true}});
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  ASSERT_TRUE(sink->open(picture.format).ok());
  ASSERT_TRUE(sink->write(picture.result(3)).ok());
  EXPECT_EQ(names_in(scratch), (Names{"f-0003.raw", "f-x.raw.part"})) << "complete before close()";
  ASSERT_TRUE(sink->write(picture.result(12'345)).ok());
  ASSERT_TRUE(sink->close().ok());
  EXPECT_EQ(names_in(scratch), (Names{"f-0003.raw", "f-12345.raw", "f-x.raw.part"}));
  EXPECT_EQ(content_of(scratch.file("f-0003.raw")), "abcd");
}

TEST(FileSink, PathsAreReadAsPathsNotAsFormats) {
  const auto refused = [](const std::string& path) {
    const auto parsed = FilePath::parse(path);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(FilePath::parse("a/100%%-%03u.y4m").value().of_frame(7), "a/100%-007.y4m");
  EXPECT_EQ(FilePath::parse("%d").value().of_frame(18'446'744'073'709'551'615U), "18446744073709551615");
  EXPECT_EQ(FilePath::parse("a%3d").value().of_frame(7), "a  7");
  for (const char* path : {"%s", "%n", "%d%d", "a%", "%lld", "%-3d", "%.3d", "%06", "%99d", "%*d", "%1$d"})
    EXPECT_NE(refused(path), "") << path;
  EXPECT_NE(refused("%d/a.raw"), "");
  EXPECT_NE(refused("dir/"), "");
  EXPECT_EQ(FilePath::parse("/a.b/film").value().of_part(2), "/a.b/film-2");
  EXPECT_EQ(FilePath::parse("film.y4m").value().of_recovered(1), "film.recovered-1.y4m");
  const FilePath film = FilePath::parse("dir/film.y4m").value();
  EXPECT_EQ(film.part_of_temporary("film.y4m.part"), 1U);
  EXPECT_EQ(film.part_of_temporary("film-12.y4m.part"), 12U);
  for (const char* other :
       {"film-1.y4m.part", "film-0x2.y4m.part", "film-.y4m.part", "film-4294967296.y4m.part", "film.y4m"})
    EXPECT_EQ(film.part_of_temporary(other), std::nullopt) << other;
  const FilePath numbered = FilePath::parse("dir/f%3d.raw").value();
  EXPECT_EQ(numbered.frame_of("f  7.raw"), 7U);
  EXPECT_EQ(numbered.frame_of("f  0.raw"), 0U);
  for (const char* other : {"f7.raw", "f 7 .raw", "f0007.raw", "f   .raw", "f99999999999999999999.raw", "f.raw"})
    EXPECT_EQ(numbered.frame_of(other), std::nullopt) << other;
  EXPECT_EQ(FilePath::parse("film.y4m").value().directory(), ".");
  EXPECT_EQ(FilePath::parse("/film.y4m").value().directory(), "/");
}

// Writes one frame, as an engine's run does; `sink` is made anew, as after a crash.
void record(const Fields& fields, Picture& picture, uint64_t sequence = 0) {
  const auto sink = file_sink(fields);
  const Status opened = sink->open(picture.format);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Status written = sink->write(picture.result(sequence));
  ASSERT_TRUE(written.ok()) << written.error().message;
  ASSERT_TRUE(sink->close().ok());
}

TEST(FileSink, NeverReplacesAFile) {
  const ScratchDirectory scratch;
  const Fields fields{{"path", scratch.file("out.raw")}};
  Picture first(PixelFormat::mono8, 2, 2, 'a');
  Picture second(PixelFormat::mono8, 2, 2, 'q');
  record(fields, first);
  const auto empty = file_sink(fields);
  ASSERT_TRUE(empty->open(first.format).ok());
  ASSERT_TRUE(empty->close().ok());
  record(fields, second);
  EXPECT_EQ(names_in(scratch), (Names{"out-2.raw", "out.raw"})) << "a run without a frame leaves no file";
  EXPECT_EQ(content_of(scratch.file("out.raw")), first.text());
  EXPECT_EQ(content_of(scratch.file("out-2.raw")), second.text());
}

TEST(FileSink, NeverReplacesAFileThatCameMeanwhile) {
  const ScratchDirectory scratch;
  const auto sink = file_sink({{"path", scratch.file("out.raw")}});
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  ASSERT_TRUE(sink->open(picture.format).ok());
  ASSERT_TRUE(sink->write(picture.result(0)).ok());
  (void)scratch.write("out.raw", "theirs");
  const Status closed = sink->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().message,
            "cannot rename " + scratch.file("out.raw.part") + " to " + scratch.file("out.raw") + ": File exists");
  EXPECT_EQ(content_of(scratch.file("out.raw")), "theirs");
  record({{"path", scratch.file("out.raw")}}, picture);
  EXPECT_EQ(names_in(scratch), (Names{"out-2.raw", "out.raw", "out.recovered-1.raw"}));
}

TEST(FileSink, NumbersGoOnAboveThoseThatAreThere) {
  const ScratchDirectory scratch;
  const Fields fields{{"path", scratch.file("f-%03d.raw")}};
  (void)scratch.write("f-1234.raw", "older");
  (void)scratch.write("f-02000.raw", "none of ours: too many digits");
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  const auto sink = file_sink(fields);
  ASSERT_TRUE(sink->open(picture.format).ok());
  for (const uint64_t sequence : {0, 1, 5}) ASSERT_TRUE(sink->write(picture.result(sequence)).ok());
  record(fields, picture, 6);
  record(fields, picture, 2'000);
  EXPECT_EQ(names_in(scratch),
            (Names{"f-02000.raw", "f-1234.raw", "f-1235.raw", "f-1236.raw", "f-1240.raw", "f-1241.raw", "f-2000.raw"}));
  EXPECT_EQ(content_of(scratch.file("f-1234.raw")), "older");
}

TEST(FileSink, KeepsWhatACrashedRunHadWritten) {
  const ScratchDirectory scratch;
  (void)scratch.write("out.raw.part", "abcdab");
  (void)scratch.write("out.recovered-1.raw", "older");
  (void)scratch.write("out-7.raw.part", "efgh");
  (void)scratch.write("out-x.raw.part", "somebody else's");
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  record({{"path", scratch.file("out.raw")}}, picture);
  EXPECT_EQ(names_in(scratch),
            (Names{"out-x.raw.part", "out.raw", "out.recovered-1.raw", "out.recovered-2.raw", "out.recovered-3.raw"}));
  EXPECT_EQ(content_of(scratch.file("out.recovered-1.raw")), "older");
  const std::string second = content_of(scratch.file("out.recovered-2.raw"));
  const std::string third = content_of(scratch.file("out.recovered-3.raw"));
  EXPECT_EQ(std::min(second, third), "abcdab");
  EXPECT_EQ(std::max(second, third), "efgh");
  EXPECT_EQ(content_of(scratch.file("out.raw")), "abcd");
}

TEST(FileSink, LeavesAloneWhatIsWrittenNow) {
  const ScratchDirectory scratch;
  const auto other = file_sink({{"path", scratch.file("out-2.raw")}});
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  ASSERT_TRUE(other->open(picture.format).ok());
  ASSERT_TRUE(other->write(picture.result(0)).ok());
  record({{"path", scratch.file("out.raw")}}, picture);
  ASSERT_TRUE(other->close().ok());
  EXPECT_EQ(names_in(scratch), (Names{"out-2.raw", "out.raw"}));
}

TEST(FileSink, TwoSinksDoNotWriteOneFile) {
  const ScratchDirectory scratch;
  const Fields fields{{"path", scratch.file("out.raw")}};
  const auto first = file_sink(fields);
  const auto second = file_sink(fields);
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  ASSERT_TRUE(first->open(picture.format).ok());
  const Status refused = second->open(picture.format);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("another sink is writing"), std::string::npos);
  ASSERT_TRUE(first->write(picture.result(0)).ok());
  ASSERT_TRUE(first->close().ok());
  EXPECT_EQ(content_of(scratch.file("out.raw")), "abcd");
}

TEST(FileSink, SaysWhichPathAndWhy) {
  const ScratchDirectory scratch;
  const FrameFormat format = FrameFormat::packed(PixelFormat::mono8, 2, 2);
  const auto message = [&](const std::string& path) {
    const Status opened = file_sink({{"path", path}})->open(format);
    return opened ? std::string("opened") : std::string(to_string(opened.error().code)) + " " + opened.error().message;
  };
  std::filesystem::create_directory(scratch.file("dir"));
  EXPECT_EQ(message(scratch.file("dir")), "sink_failed cannot write " + scratch.file("dir") + ": it is a directory");
  EXPECT_EQ(message(scratch.file("none/a.raw")),
            "sink_failed cannot write into the directory " + scratch.file("none") + ": No such file or directory");
  EXPECT_EQ(message("/dev/null"), "sink_failed cannot write /dev/null: it is there and no regular file");
  const std::string file = scratch.write("file", "");
  EXPECT_EQ(message(file + "/a.raw").rfind("sink_failed cannot write into", 0), 0U);
}

// A limit of this process's file sizes stands in for a full disk: write() fails half-way, as it does there.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(FileSink, AFullDiskLeavesWholeFramesAndAClearMessage) {
  const ScratchDirectory scratch;
  const auto sink = file_sink({{"path", scratch.file("out.raw")}});
  Picture picture(PixelFormat::mono8, 100, 100, 0);
  ASSERT_TRUE(sink->open(picture.format).ok());
  ASSERT_TRUE(sink->write(picture.result(0)).ok());
  {
    const FileSizeLimit full(15'000);
    const Status refused = sink->write(picture.result(1));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::sink_failed);
    EXPECT_EQ(refused.error().message, "cannot write to " + scratch.file("out.raw") + ".part: File too large");
  }
  ASSERT_TRUE(sink->write(picture.result(2)).ok()) << "there is room again";
  ASSERT_TRUE(sink->close().ok());
  EXPECT_EQ(content_of(scratch.file("out.raw")), picture.text() + picture.text());
}

TEST(FileSink, AFullDiskLeavesNoHalfFrameFile) {
  const ScratchDirectory scratch;
  const auto sink = file_sink({{"path", scratch.file("%d.raw")}});
  Picture picture(PixelFormat::mono8, 100, 100, 0);
  ASSERT_TRUE(sink->open(picture.format).ok());
  {
    const FileSizeLimit full(5'000);
    EXPECT_FALSE(sink->write(picture.result(0)).ok());
  }
  EXPECT_EQ(names_in(scratch), Names{});
}

TEST(FileSink, SaysThatItsFileIsGone) {
  const ScratchDirectory scratch;
  const auto sink = file_sink({{"path", scratch.file("dir/out.raw")}});
  std::filesystem::create_directory(scratch.file("dir"));
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  ASSERT_TRUE(sink->open(picture.format).ok());
  ASSERT_TRUE(sink->write(picture.result(0)).ok());
  std::filesystem::rename(scratch.file("dir"), scratch.file("moved"));
  Status written;
  for (const MonotonicNs end = monotonic_now_ns() + kPatienceNs; written && monotonic_now_ns() < end;)
    written = sink->write(picture.result(1));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "cannot write " + scratch.file("dir/out.raw") + ": " +
                                         scratch.file("dir/out.raw") + ".part was moved or removed");
  EXPECT_FALSE(sink->close().ok());
}

TEST(FileSink, NeverGivesItsNameToAFileOfOthers) {
  const ScratchDirectory scratch;
  const auto sink = file_sink({{"path", scratch.file("out.raw")}});
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  ASSERT_TRUE(sink->open(picture.format).ok());
  ASSERT_TRUE(sink->write(picture.result(0)).ok());
  std::filesystem::remove(scratch.file("out.raw.part"));
  (void)scratch.write("out.raw.part", "theirs");
  EXPECT_FALSE(sink->close().ok());
  EXPECT_EQ(names_in(scratch), Names{"out.raw.part"});
}

TEST(FileSink, Y4mHoldsWhatItSays) {
  const ScratchDirectory scratch;
  const auto sink = file_sink({{"path", scratch.file("out.y4m")}, {"fps", 30'000.0 / 1001}});
  Picture picture(PixelFormat::mono8, 2, 2, 'a');
  ASSERT_TRUE(sink->open(picture.format).ok());
  ASSERT_TRUE(sink->write(picture.result(0)).ok());
  Picture larger(PixelFormat::mono8, 4, 2, 'a');
  EXPECT_FALSE(sink->write(larger.result(1)).ok()) << "one size only";
  ASSERT_TRUE(sink->close().ok());
  EXPECT_EQ(content_of(scratch.file("out.y4m")),
            "YUV4MPEG2 W2 H2 F30000:1001 Ip A1:1 Cmono XCOLORRANGE=FULL\nFRAME\nabcd");
  const Status refused = sink->open(FrameFormat::packed(PixelFormat::rgb16, 2, 2));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST(SinksByName, NoneAndMemory) {
  Result<SinkSpec> none = make_sink("none", {});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none.value().wants_host);
  EXPECT_EQ(none.value().make, nullptr);
  Result<SinkSpec> memory = make_sink("memory", {});
  ASSERT_TRUE(memory.ok());
  EXPECT_TRUE(memory.value().wants_host && memory.value().threadless);
  EXPECT_EQ(make_sink("file", {}).error().message, "file: 'path' must be a text that is not empty");
  EXPECT_EQ(make_sink("tape", {}).error().message, "there is no sink 'tape'");
  EXPECT_EQ(make_sink("memory", {{"size", 1.0}}).error().message, "memory: there is no field 'size'");
}

}  // namespace
}  // namespace framelane::io::test
