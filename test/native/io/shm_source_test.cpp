#include <sys/stat.h>

#include <cstdio>
#include <cstring>

#include "native/io/shm_rig.h"

extern "C" int framelane_shm_c11_push(const char* path, unsigned frames);

namespace framelane::io::test {
namespace {

// Fills a frame with its number, every byte; the caller has a slot.
void submit_number(framelane_shm_producer& producer, framelane_shm_frame& frame) {
  std::memset(frame.data, static_cast<int>(frame.frame_id & 0xff), frame.bytes);
  EXPECT_EQ(framelane_shm_submit(&producer, &frame), 0);
}

TEST(ShmSource, DeliversWhatTheProducerFillsWithoutACopy) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  Producer peer(rig.path, "rgb8", 64, 48, 30);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  EXPECT_EQ(rig.format, FrameFormat::packed(PixelFormat::rgb8, 64, 48));
  EXPECT_DOUBLE_EQ(rig.source->traits().expected_fps, 30);
  EXPECT_TRUE(rig.source->traits().live);

  for (uint64_t number = 1; number <= 100; ++number) {
    framelane_shm_frame frame;
    ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
    frame.device_timestamp_ns = static_cast<int64_t>(number * 1000);
    const MonotonicNs before_ns = monotonic_now_ns();
    submit_number(peer.producer, frame);
    const auto filled = rig.take();
    ASSERT_TRUE(filled);
    EXPECT_EQ(filled->data, rig.ring->slot_data(frame.slot));
    EXPECT_EQ(static_cast<uint64_t>(filled->data[64 * 48 * 3 - 1]), number & 0xff);
    EXPECT_EQ(filled->meta.frame_id, number);
    EXPECT_EQ(filled->meta.device_timestamp_ns, static_cast<int64_t>(number * 1000));
    EXPECT_GE(filled->meta.arrival_ns, before_ns);
    EXPECT_LE(filled->meta.arrival_ns, monotonic_now_ns());
    EXPECT_EQ(filled->meta.width, 64U);
    EXPECT_EQ(filled->meta.size_bytes, 64U * 48 * 3);
    EXPECT_EQ(filled->meta.discontinuity, number == 1);
    rig.ring->release(filled->index);
  }
  EXPECT_EQ(rig.port->received, 100U);
  EXPECT_EQ(rig.port->lost_all(), 0U);
}

TEST(ShmSource, TakesFramesFromAClientInC11) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"), HandlingMode::oldest_first);
  int code = -1;
  std::thread client([&] { code = framelane_shm_c11_push(rig.path.c_str(), 20); });
  EXPECT_TRUE(rig.start().ok());
  for (uint64_t id = 1; id <= 20; ++id) {
    const auto filled = rig.take();
    EXPECT_TRUE(filled);
    if (!filled) break;
    EXPECT_EQ(filled->meta.frame_id, id);
    EXPECT_EQ(static_cast<uint64_t>(filled->data[127]), id);
    rig.ring->release(filled->index);
  }
  client.join();
  EXPECT_EQ(code, 0);
}

TEST(ShmSource, CarriesSmallerFramesAndGivesUpShortOnes) {
  const TemporaryFolder folder;
  Rig rig(folder.file("line.sock"));
  Producer peer(rig.path, "mono16", 32, 100);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  framelane_shm_frame frame;
  ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
  frame.height = 7;
  frame.bytes = 7 * 64;
  ASSERT_EQ(framelane_shm_submit(&peer.producer, &frame), 0);
  const auto filled = rig.take();
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->meta.height, 7U);
  EXPECT_EQ(filled->meta.size_bytes, 7U * 64);
  rig.ring->release(filled->index);

  ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
  frame.bytes = 99 * 64;  // one row is missing
  ASSERT_EQ(framelane_shm_submit(&peer.producer, &frame), 0);
  ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
  ASSERT_EQ(framelane_shm_submit(&peer.producer, &frame), 0);
  const auto whole = rig.take();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->meta.frame_id, 3U);
  EXPECT_TRUE(whole->meta.discontinuity);
  EXPECT_EQ(rig.port->lost_count(LostReason::incomplete), 1U);
  EXPECT_EQ(rig.port->lost_all(), 1U);
}

TEST(ShmSource, CountsGapsOnceAndTheProducersOwnLossesUnderTheirNames) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  Producer peer(rig.path, "mono8", 16, 16);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  const auto send = [&](uint64_t id) {
    framelane_shm_frame frame;
    ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
    frame.frame_id = id;
    submit_number(peer.producer, frame);
    const auto filled = rig.take();
    ASSERT_TRUE(filled);
    EXPECT_EQ(filled->meta.frame_id, id);
    rig.ring->release(filled->index);
  };
  send(1000);
  send(1001);
  send(1005);  // three never came
  framelane_shm_lost(&peer.producer, FRAMELANE_SHM_LOST_RING_FULL, 2);
  framelane_shm_lost(&peer.producer, FRAMELANE_SHM_LOST_TRANSPORT, 1);
  send(1010);  // of four missing, three are known
  send(3);     // the device counts anew
  send(4);
  EXPECT_EQ(rig.port->lost_count(LostReason::id_gap), 4U);
  EXPECT_EQ(rig.port->lost_count(LostReason::ring_full), 2U);
  EXPECT_EQ(rig.port->lost_count(LostReason::transport), 1U);
  EXPECT_EQ(rig.port->lost_all(), 7U);
  EXPECT_EQ(rig.port->received, 6U);
}

// The producer offers frames as fast as it can and counts those that find no slot; the first waits for the source to
// lend one.
uint64_t offer(framelane_shm_producer& producer, uint64_t frames) {
  uint64_t unplaced = 0;
  for (uint64_t i = 0; i < frames; ++i) {
    framelane_shm_frame frame;
    if (framelane_shm_acquire(&producer, i == 0 ? kPatientMs : 0, &frame) == 0) {
      submit_number(producer, frame);
    } else {
      ++unplaced;
      framelane_shm_lost(&producer, FRAMELANE_SHM_LOST_RING_FULL, 1);
    }
  }
  return unplaced;
}

// How a full ring is handled, and whether the worker looks for frames itself.
class ShmSourceModes : public testing::TestWithParam<std::tuple<HandlingMode, bool>> {};

TEST_P(ShmSourceModes, AFullRingFollowsItsModeAndTheSumIsExact) {
  constexpr uint64_t kFrames = 20000;
  const auto [mode, looks] = GetParam();
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"), mode, 4);
  Producer peer(rig.path, "mono8", 32, 32);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  std::atomic<bool> done{false};
  uint64_t processed = 0;
  std::thread worker([&, look = looks] {
    uint64_t last_id = 0;
    for (bool last_round = false;; last_round = done) {
      if (look) rig.source->look(*rig.port);
      rig.ring->wait_full(monotonic_now_ns() + (look ? 0 : kSecondNs / 100));
      while (const auto filled = rig.ring->take()) {
        EXPECT_GT(filled->meta.frame_id, last_id);  // in order
        last_id = filled->meta.frame_id;
        EXPECT_EQ(static_cast<uint64_t>(filled->data[0]), last_id & 0xff);
        EXPECT_EQ(static_cast<uint64_t>(filled->data[1023]), last_id & 0xff);
        ++processed;
        rig.ring->release(filled->index);
      }
      if (last_round) return;
    }
  });
  const uint64_t unplaced = offer(peer.producer, kFrames);
  peer.close();
  const auto error = rig.port->wait_failed();
  done = true;
  worker.join();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::source_lost);
  EXPECT_EQ(rig.port->received + rig.port->lost_all(), kFrames);
  EXPECT_EQ(rig.port->lost_count(LostReason::ring_full), unplaced);
  EXPECT_EQ(rig.port->lost_count(LostReason::id_gap), 0U);
  EXPECT_EQ(rig.port->received, processed + rig.port->overwritten);
  EXPECT_GT(processed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Modes, ShmSourceModes,
                         testing::Combine(testing::Values(HandlingMode::oldest_first,
                                                          HandlingMode::oldest_first_overwrite,
                                                          HandlingMode::newest_only),
                                          testing::Bool()));

TEST(ShmSource, ALookDeliversWhatIsThereAtOnce) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  Producer peer(rig.path, "mono8", 8, 8);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  int looked = 0;
  for (uint64_t id = 1; id <= 500; ++id) {
    framelane_shm_frame frame;
    ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
    submit_number(peer.producer, frame);
    const uint64_t before = rig.port->received;
    rig.source->look(*rig.port);
    looked += before + 1 == id && rig.port->received == id;
    const auto filled = rig.take();
    ASSERT_TRUE(filled);
    EXPECT_EQ(filled->meta.frame_id, id);
    rig.ring->release(filled->index);
  }
  EXPECT_GT(looked, 0);
  EXPECT_EQ(rig.port->received, 500U);
}

TEST(ShmSource, OldestFirstKeepsTheOldestAndRefusesTheNew) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"), HandlingMode::oldest_first, 4);
  Producer peer(rig.path, "mono8", 8, 8);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  framelane_shm_frame frame;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
    submit_number(peer.producer, frame);
  }
  EXPECT_EQ(framelane_shm_acquire(&peer.producer, 50, &frame), -EAGAIN);
  framelane_shm_lost(&peer.producer, FRAMELANE_SHM_LOST_RING_FULL, 1);
  const auto oldest = rig.take();
  ASSERT_TRUE(oldest);
  EXPECT_EQ(oldest->meta.frame_id, 1U);
  rig.ring->release(oldest->index);
  ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
  EXPECT_EQ(frame.frame_id, 6U);
}

TEST(ShmSource, OverwritingModesAlwaysLeaveTheProducerASlot) {
  for (const HandlingMode mode : {HandlingMode::oldest_first_overwrite, HandlingMode::newest_only}) {
    const TemporaryFolder folder;
    Rig rig(folder.file("cam.sock"), mode, 3);
    Producer peer(rig.path, "mono8", 8, 8);
    ASSERT_TRUE(rig.start().ok());
    ASSERT_EQ(peer.joined(), 0);
    framelane_shm_frame frame;
    for (int i = 0; i < 50; ++i) {  // nobody takes one
      ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
      submit_number(peer.producer, frame);
    }
    peer.close();
    ASSERT_TRUE(rig.port->wait_failed());
    EXPECT_EQ(rig.port->received, 50U);
    EXPECT_EQ(rig.port->overwritten + rig.ring->full(), 50U);
    uint64_t newest = 0;
    while (const auto filled = rig.ring->take()) newest = filled->meta.frame_id;
    EXPECT_EQ(newest, 50U);
  }
}

TEST(ShmSource, ServesAProducerThatReturnsWithAnotherFormat) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  const std::pair<const char*, uint32_t> formats[] = {{"mono8", 8}, {"rgb32f_planar", 24}};
  for (const auto& [format, width] : formats) {
    Producer peer(rig.path, format, width, 4);
    ASSERT_TRUE(rig.start().ok());
    ASSERT_EQ(peer.joined(), 0);
    EXPECT_EQ(info(rig.format.pixel).name, format);
    EXPECT_EQ(rig.format.width, width);
    framelane_shm_frame frame;
    ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
    submit_number(peer.producer, frame);
    ASSERT_TRUE(rig.take());
    peer.close();
    const auto error = rig.port->wait_failed();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, ErrorCode::source_lost);
    EXPECT_NE(error->message.find("'test'"), std::string::npos);
    rig.close();
  }
}

TEST(ShmSource, CarriesOnAfterStopAndStart) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  Producer peer(rig.path, "mono8", 8, 8);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  framelane_shm_frame frame;
  for (uint64_t id = 1; id <= 5; ++id) {
    ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
    rig.source->stop();
    submit_number(peer.producer, frame);  // while nobody looks
    ASSERT_TRUE(rig.source->start(*rig.port).ok());
    const auto filled = rig.take();
    ASSERT_TRUE(filled);
    EXPECT_EQ(filled->meta.frame_id, id);
    rig.ring->release(filled->index);
  }
  rig.source->stop();
  rig.ring->reclaim();
  // Its slots are the ring's again: the producer must come again.
  ASSERT_TRUE(rig.source->start(*rig.port).ok());
  while (framelane_shm_wait_bell(&peer.producer.connection, kPatientMs) == 1) {
  }
  Producer next(rig.path, "mono8", 8, 8);
  ASSERT_EQ(next.joined(), 0);
  ASSERT_EQ(framelane_shm_acquire(&next.producer, kPatientMs, &frame), 0);
  submit_number(next.producer, frame);
  EXPECT_TRUE(rig.take());
}

TEST(ShmSource, ASecondProducerIsToldThatThePlaceIsTaken) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  Producer peer(rig.path, "mono8", 8, 8);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  framelane_shm_producer second;
  EXPECT_EQ(framelane_shm_open(&second, rig.path.c_str(), "mono8", 8, 8, 0, "second", 100), -EBUSY);
  EXPECT_STREQ(second.connection.error, "another producer is connected");
  framelane_shm_frame frame;
  ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
  submit_number(peer.producer, frame);
  EXPECT_TRUE(rig.take());
}

TEST(ShmSource, OpenSaysThatItWaitsAndCanBeInterrupted) {
  const TemporaryFolder folder;
  const std::string path = folder.file("cam.sock");
  auto source = make_shm_source({.path = path, .open_timeout_ns = kSecondNs / 20});
  ASSERT_TRUE(source.ok());
  const Result<FrameFormat> timed_out = source.value()->open();
  ASSERT_FALSE(timed_out.ok());
  EXPECT_EQ(timed_out.error().code, ErrorCode::source_unavailable);
  EXPECT_EQ(timed_out.error().message, "waiting for a producer at " + path);

  auto patient = make_shm_source({.path = folder.file("b.sock"), .open_timeout_ns = 600 * kSecondNs});
  ASSERT_TRUE(patient.ok());
  std::thread other([&] { patient.value()->interrupt(); });
  EXPECT_FALSE(patient.value()->open().ok());
  other.join();
  EXPECT_FALSE(make_shm_source({.path = ""}).ok());
  EXPECT_FALSE(make_shm_source({.path = "/tmp/" + std::string(200, 'x')}).ok());
}

TEST(ShmSource, TheSocketFileHasItsModeReplacesOnlyAStaleOneAndGoes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("cam.sock");
  const auto open_once = [&] {
    auto source = make_shm_source({.path = path, .open_timeout_ns = 1});
    const Result<FrameFormat> opened = source.value()->open();
    return std::pair(source.take(), opened.error().message);
  };
  {
    auto [first, waiting] = open_once();
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0660U);
    auto [second, in_use] = open_once();
    EXPECT_NE(in_use.find("in use"), std::string::npos);
    first->close();
    EXPECT_NE(::stat(path.c_str(), &info), 0);
    // What a killed engine leaves behind.
    auto [third, again] = open_once();
    std::filesystem::rename(path, path + ".old");
    third->close();
    std::filesystem::rename(path + ".old", path);
    auto [fourth, replaced] = open_once();
    EXPECT_EQ(replaced, "waiting for a producer at " + path);
  }
  std::fclose(std::fopen(path.c_str(), "w"));
  auto [source, refused] = open_once();
  EXPECT_NE(refused.find("is no socket"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(ShmSource, ServesAnAbstractAddress) {
  Rig rig("@framelane-test-" + std::to_string(::getpid()));
  Producer peer(rig.path, "mono8", 8, 8);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
}

}  // namespace
}  // namespace framelane::io::test
