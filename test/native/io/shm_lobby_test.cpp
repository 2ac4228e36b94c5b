// Clients that connect and say nothing delay nobody.
#include "core/signal.h"
#include "io/shm/lobby.h"
#include "io/sinks/shm.h"
#include "native/io/shm_rig.h"

namespace framelane::io::test {
namespace {

constexpr int64_t kNeverNs = 600 * kSecondNs;

// How many of the silent ones the engine holds on to, after it has served somebody else.
size_t still_waiting(const SilentClients& silent, size_t count) {
  size_t waiting = 0;
  for (size_t i = 0; i < count; ++i) waiting += !silent.heard(i, 0);
  return waiting;
}

class ShmSilence : public testing::TestWithParam<size_t> {};

TEST_P(ShmSilence, AProducerIsServedBeforeThoseWhoSayNothing) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"), HandlingMode::oldest_first_overwrite, 6, kNeverNs);
  std::thread clients([&] {
    const SilentClients silent(rig.path, GetParam());
    const Producer peer(rig.path, "mono8", 8, 8);
    for (size_t i = 0; i < GetParam(); ++i) EXPECT_TRUE(silent.heard(i, kPatientMs));  // told to come again
  });
  const Status started = rig.start();
  EXPECT_TRUE(started.ok()) << started.error().message;
  clients.join();
}

TEST_P(ShmSilence, AReaderIsServedBesideThoseWhoSayNothing) {
  const TemporaryFolder folder;
  const std::unique_ptr<Sink> sink = make_shm_sink({folder.file("out.sock"), 4});
  ASSERT_TRUE(sink->open(FrameFormat::packed(PixelFormat::mono8, 8, 8)).ok());
  const SilentClients silent(folder.file("out.sock"), GetParam());
  std::vector<framelane_shm_reader> readers(FRAMELANE_SHM_MAX_READERS);
  for (framelane_shm_reader& reader : readers) {
    EXPECT_EQ(framelane_shm_reader_open(&reader, folder.file("out.sock").c_str(), "test", kPatientMs), 0);
  }
  for (framelane_shm_reader& reader : readers) framelane_shm_reader_close(&reader);
  for (size_t i = 0; i < GetParam(); ++i) EXPECT_TRUE(silent.heard(i, kPatientMs));  // its time is up
  ASSERT_TRUE(sink->close().ok());
}

INSTANTIATE_TEST_SUITE_P(Clients, ShmSilence, testing::Values(1, 15, 40));

class ShmLobby : public testing::Test {
 protected:
  void SetUp() override {
    Result<Listener> opened = Listener::open(folder.file("door.sock"));
    ASSERT_TRUE(opened.ok());
    listener = opened.take();
  }
  const TemporaryFolder folder;
  Listener listener;
};

TEST_F(ShmLobby, IsBoundedAndTheOneSilentForLongestMakesRoom) {
  shm::Lobby lobby(FRAMELANE_SHM_PRODUCER, kNeverNs);
  const SilentClients first(listener.path(), shm::Lobby::kPlaces);
  lobby.admit(listener);
  EXPECT_EQ(still_waiting(first, shm::Lobby::kPlaces), shm::Lobby::kPlaces);
  const SilentClients next(listener.path(), 3);
  lobby.admit(listener);
  EXPECT_FALSE(lobby.greet());
  EXPECT_EQ(still_waiting(first, shm::Lobby::kPlaces), shm::Lobby::kPlaces - 3);
  for (size_t oldest = 0; oldest < 3; ++oldest) EXPECT_TRUE(first.heard(oldest, 0));
  EXPECT_EQ(still_waiting(next, 3), 3U);
}

TEST_F(ShmLobby, PatienceEndsForEachOnItsOwn) {
  shm::Lobby lobby(FRAMELANE_SHM_PRODUCER, kSecondNs / 20);
  EXPECT_EQ(lobby.timeout_ms(kNoDeadline), -1);
  const SilentClients silent(listener.path(), 2);
  lobby.admit(listener);
  EXPECT_LE(lobby.timeout_ms(kNoDeadline), 50);
  while (lobby.timeout_ms(kNoDeadline) != -1) EXPECT_FALSE(lobby.greet());
  EXPECT_EQ(still_waiting(silent, 2), 0U);
  EXPECT_EQ(lobby.last_refusal(), "no HELLO came in time");
}

}  // namespace
}  // namespace framelane::io::test
