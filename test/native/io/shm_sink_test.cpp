#include <fcntl.h>

#include <cstring>
#include <vector>

#include "io/sinks/shm.h"
#include "native/io/shm_rig.h"

namespace framelane::io::test {
namespace {

// A sink at a socket of its own, and frames whose every byte is their number.
struct SinkRig {
  explicit SinkRig(uint32_t slots = 4) : path(folder.file("out.sock")), sink(make_shm_sink({path, slots})) {}

  void write(uint64_t number) {
    std::memset(pixels.data(), static_cast<int>(number & 0xff), pixels.size());
    ResultFrame frame;
    frame.view = {pixels.data(), format};
    frame.meta.frame_id = number + 100;
    frame.meta.device_timestamp_ns = static_cast<int64_t>(number);
    frame.sequence = number;
    ASSERT_TRUE(sink->write(frame).ok());
  }

  const TemporaryFolder folder;
  const std::string path;
  FrameFormat format = FrameFormat::packed(PixelFormat::rgb8, 40, 30);
  std::vector<std::byte> pixels = std::vector<std::byte>(format.bytes());
  std::unique_ptr<Sink> sink;
};

struct Reader {
  explicit Reader(const std::string& path, int timeout_ms = kPatientMs)
      : code(framelane_shm_reader_open(&reader, path.c_str(), "test", timeout_ms)) {}
  ~Reader() { framelane_shm_reader_close(&reader); }
  framelane_shm_reader reader{};
  const int code;
};

TEST(ShmSink, AReaderTakesEachResultAsItComes) {
  SinkRig rig;
  ASSERT_TRUE(rig.sink->open(rig.format).ok());
  Reader reader(rig.path);
  ASSERT_EQ(reader.code, 0) << reader.reader.connection.error;
  EXPECT_STREQ(reader.reader.connection.welcome.pixel_format, "rgb8");
  EXPECT_EQ(reader.reader.connection.welcome.width, 40U);
  std::vector<uint8_t> copy(rig.format.bytes());
  for (uint64_t number = 1; number <= 50; ++number) {
    rig.write(number);
    framelane_shm_result result;
    ASSERT_EQ(framelane_shm_read(&reader.reader, kPatientMs, copy.data(), copy.size(), &result), 0);
    EXPECT_EQ(result.entry.result, number);
    EXPECT_EQ(result.entry.frame_id, number + 100);
    EXPECT_EQ(result.entry.device_timestamp_ns, static_cast<int64_t>(number));
    EXPECT_EQ(result.entry.width, 40U);
    EXPECT_EQ(result.entry.row_stride_bytes, 120U);
    EXPECT_EQ(result.missed, 0U);
    EXPECT_EQ(copy.front(), number);
    EXPECT_EQ(copy.back(), number);
  }
  framelane_shm_result none;
  EXPECT_EQ(framelane_shm_view(&reader.reader, 20, &none), -EAGAIN);
  ASSERT_TRUE(rig.sink->close().ok());
  EXPECT_EQ(framelane_shm_view(&reader.reader, kPatientMs, &none), -EPIPE);
}

TEST(ShmSink, ALateReaderGetsTheLastResultAndASlowOneTheNewest) {
  SinkRig rig;
  ASSERT_TRUE(rig.sink->open(rig.format).ok());
  for (uint64_t number = 1; number <= 10; ++number) rig.write(number);
  Reader reader(rig.path);
  ASSERT_EQ(reader.code, 0);
  framelane_shm_result result;
  ASSERT_EQ(framelane_shm_view(&reader.reader, kPatientMs, &result), 0);
  EXPECT_EQ(result.entry.result, 10U);
  EXPECT_EQ(result.missed, 0U);
  EXPECT_TRUE(framelane_shm_intact(&reader.reader, &result));
  for (uint64_t number = 11; number <= 17; ++number) rig.write(number);
  EXPECT_FALSE(framelane_shm_intact(&reader.reader, &result));
  ASSERT_EQ(framelane_shm_view(&reader.reader, kPatientMs, &result), 0);
  EXPECT_EQ(result.entry.result, 17U);
  EXPECT_EQ(result.missed, 6U);
  ASSERT_TRUE(rig.sink->close().ok());
}

TEST(ShmSink, ACopyIsNeverTornWhileTheWriterRuns) {
  SinkRig rig(2);
  ASSERT_TRUE(rig.sink->open(rig.format).ok());
  Reader reader(rig.path);
  ASSERT_EQ(reader.code, 0);
  constexpr uint64_t kFrames = 20000;
  std::thread writer([&] {
    for (uint64_t number = 1; number <= kFrames; ++number) rig.write(number);
  });
  std::vector<uint8_t> copy(rig.format.bytes());
  uint64_t taken = 0;
  uint64_t missed = 0;
  framelane_shm_result result{};
  while (result.entry.result < kFrames) {
    ASSERT_EQ(framelane_shm_read(&reader.reader, kPatientMs, copy.data(), copy.size(), &result), 0);
    const std::vector<uint8_t> expected(copy.size(), static_cast<uint8_t>(result.entry.result & 0xff));
    ASSERT_EQ(copy, expected);
    ++taken;
    missed += result.missed;
  }
  writer.join();
  EXPECT_EQ(taken + missed, kFrames);
  ASSERT_TRUE(rig.sink->close().ok());
}

TEST(ShmSink, ReadersCannotWriteWhatTheyAreGiven) {
  SinkRig rig;
  ASSERT_TRUE(rig.sink->open(rig.format).ok());
  framelane_shm_connection connection;
  framelane_shm_hello hello{};
  hello.header = {FRAMELANE_SHM_MAGIC, FRAMELANE_SHM_VERSION, FRAMELANE_SHM_HELLO, sizeof hello, FRAMELANE_SHM_READER};
  ASSERT_EQ(framelane_shm_join(&connection, rig.path.c_str(), &hello, kPatientMs), 0);
  const int fd = connection.fd[0];
  const size_t bytes = connection.welcome.file_bytes;
  EXPECT_EQ(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_LT(::write(fd, "x", 1), 0);
  EXPECT_NE(::ftruncate(fd, 0), 0);
  EXPECT_NE(::ftruncate(fd, static_cast<off_t>(bytes * 2)), 0);
  void* view = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_NE(::mprotect(view, bytes, PROT_READ | PROT_WRITE), 0);
  ::munmap(view, bytes);
  framelane_shm_disconnect(&connection);
  rig.write(1);
  ASSERT_TRUE(rig.sink->close().ok());
}

TEST(ShmSink, ServesEightReadersOneOfWhomNeverReadsAndRefusesTheNinth) {
  SinkRig rig;
  ASSERT_TRUE(rig.sink->open(rig.format).ok());
  std::vector<std::unique_ptr<Reader>> readers;
  for (uint32_t i = 0; i < FRAMELANE_SHM_MAX_READERS; ++i) {
    readers.push_back(std::make_unique<Reader>(rig.path));
    ASSERT_EQ(readers.back()->code, 0);
  }
  Reader ninth(rig.path, 10);
  EXPECT_EQ(ninth.code, -EBUSY);
  // More than a socket holds bells: the writer goes on.
  for (uint64_t number = 1; number <= 3000; ++number) rig.write(number);
  for (const auto& reader : readers) {
    framelane_shm_result result;
    ASSERT_EQ(framelane_shm_view(&reader->reader, kPatientMs, &result), 0);
    EXPECT_EQ(result.entry.result, 3000U);
  }
  readers.front().reset();
  Reader next(rig.path);  // tries until the place is free
  EXPECT_EQ(next.code, 0);
  ASSERT_TRUE(rig.sink->close().ok());
}

TEST(ShmSink, TurnsAwayWhatIsNoReaderAndTakesSmallerResults) {
  SinkRig rig;
  ASSERT_TRUE(rig.sink->open(rig.format).ok());
  framelane_shm_producer producer;
  EXPECT_EQ(framelane_shm_open(&producer, rig.path.c_str(), "mono8", 8, 8, 0, "", kPatientMs), -ECONNREFUSED);
  EXPECT_STREQ(producer.connection.error, "this socket serves readers only");
  Reader reader(rig.path);
  ASSERT_EQ(reader.code, 0);
  const FrameFormat full = rig.format;
  rig.format.height = 3;
  rig.write(1);
  framelane_shm_result result;
  ASSERT_EQ(framelane_shm_view(&reader.reader, kPatientMs, &result), 0);
  EXPECT_EQ(result.entry.height, 3U);
  EXPECT_EQ(result.entry.bytes, 360U);
  rig.format = FrameFormat::packed(PixelFormat::rgb8, 400, 300);
  ResultFrame large;
  large.view = {rig.pixels.data(), rig.format};
  const Status refused = rig.sink->write(large);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::sink_failed);
  rig.format = full;
  ASSERT_TRUE(rig.sink->close().ok());
  ASSERT_TRUE(rig.sink->open(rig.format).ok());  // as its runner does after a failure
  ASSERT_TRUE(rig.sink->close().ok());
  EXPECT_FALSE(std::filesystem::exists(rig.path));
}

TEST(ShmSink, SaysWhyItCannotOpen) {
  SinkRig rig;
  ASSERT_TRUE(rig.sink->open(rig.format).ok());
  const auto second = make_shm_sink({rig.path, 4});
  const Status refused = second->open(rig.format);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::sink_failed);
  EXPECT_NE(refused.error().message.find("in use"), std::string::npos);
  ASSERT_TRUE(rig.sink->close().ok());
}

}  // namespace
}  // namespace framelane::io::test
