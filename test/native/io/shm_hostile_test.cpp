// Producers that lie, break off and die. Whatever they do, the engine goes on and its sums are exact.
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "io/shm/messages.h"
#include "native/io/shm_rig.h"

namespace framelane::io::test {
namespace {

constexpr uint32_t kSeed = 20240901;

framelane_shm_hello good_hello() {
  framelane_shm_hello hello{};
  hello.header = {FRAMELANE_SHM_MAGIC, FRAMELANE_SHM_VERSION, FRAMELANE_SHM_HELLO, sizeof hello,
                  FRAMELANE_SHM_PRODUCER};
  std::strcpy(hello.pixel_format, "mono8");
  hello.width = 16;
  hello.height = 8;
  std::strcpy(hello.client, "hostile");
  return hello;
}

TEST(ShmHostile, HelloWithAnyBytesIsAcceptedWholeOrRefusedWithASentence) {
  std::mt19937 random(kSeed);
  const framelane_shm_hello good = good_hello();
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::array<std::byte, FRAMELANE_SHM_MESSAGE_BYTES> bytes{};
    std::memcpy(bytes.data(), &good, sizeof good);
    size_t size = sizeof good;
    if (round % 4 == 0) size = random() % (bytes.size() + 1);
    for (uint32_t changes = random() % 4; changes > 0 && size > 0; --changes)
      bytes[random() % size] = static_cast<std::byte>(random());
    const auto hello = shm::parse_hello(std::span(bytes).first(size), FRAMELANE_SHM_PRODUCER);
    if (!hello) {
      EXPECT_EQ(hello.error().code, ErrorCode::source_malformed);
      EXPECT_FALSE(hello.error().message.empty());
      continue;
    }
    ++accepted;
    const FrameFormat& format = hello.value().format;
    ASSERT_GE(format.bytes(), 1U);
    ASSERT_LE(format.bytes(), FRAMELANE_SHM_MAX_FRAME_BYTES);
    ASSERT_EQ(format, FrameFormat::packed(format.pixel, format.width, format.height));
  }
  EXPECT_GT(accepted, 1000);
}

TEST(ShmHostile, EachDefectOfAHelloIsNamed) {
  const auto refused = [](auto&& change) {
    framelane_shm_hello hello = good_hello();
    change(hello);
    const auto parsed =
        shm::parse_hello(std::as_bytes(std::span(&hello, 1)).first(sizeof hello), FRAMELANE_SHM_PRODUCER);
    return parsed ? std::string() : parsed.error().message;
  };
  using Hello = framelane_shm_hello;
  EXPECT_EQ(refused([](Hello&) {}), "");
  EXPECT_NE(refused([](Hello& h) { h.header.magic = 1; }).find("no HELLO of this protocol"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { h.header.version = 2; }).find("version 2"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { h.header.size = 4; }).find("size"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { h.header.role = FRAMELANE_SHM_READER; }).find("producers only"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { std::strcpy(h.pixel_format, "mono9"); }).find("'mono9'"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { std::memset(h.pixel_format, 'm', 32); }).find("pixel format"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { h.width = 0; }).find("0x8"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { h.width = h.height = 65535; }).find("larger than 1 GiB"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { h.flags = 1; }).find("flags"), std::string::npos);
  EXPECT_NE(refused([](Hello& h) { h.client[0] = '\n'; }).find("printable"), std::string::npos);
}

TEST(ShmHostile, OpenTurnsAwayNonsenseAndServesTheNextOne) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  std::thread nonsense([&] {
    framelane_shm_hello hello = good_hello();
    hello.width = 70000;
    framelane_shm_connection connection;
    EXPECT_EQ(framelane_shm_join(&connection, rig.path.c_str(), &hello, kPatientMs), -ECONNREFUSED);
    EXPECT_NE(std::string(connection.error).find("70000x8"), std::string::npos);
    // Gone before it says a word.
    framelane_shm_connection silent{-1, {-1, -1}, {}, {}};
    EXPECT_EQ(framelane_shm_dial(&silent, rig.path.c_str()), 0);
    framelane_shm_disconnect(&silent);
    Producer good(rig.path, "mono8", 8, 8);
    EXPECT_EQ(good.joined(), 0);
  });
  EXPECT_TRUE(rig.start().ok());
  nonsense.join();
}

// Breaks the protocol in one way; the engine must say so and go on.
void expect_breach_of(const std::function<void(framelane_shm_producer&, framelane_shm_frame&)>& act,
                      const std::string& sentence, bool looks) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  {
    Producer peer(rig.path, "mono8", 16, 8);
    ASSERT_TRUE(rig.start().ok());
    ASSERT_EQ(peer.joined(), 0);
    framelane_shm_frame frame;
    ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
    act(peer.producer, frame);
    for (int i = 0; looks && i < 1000; ++i) rig.source->look(*rig.port);
    const auto error = rig.port->wait_failed();
    ASSERT_TRUE(error) << sentence;
    EXPECT_EQ(error->code, ErrorCode::source_malformed);
    EXPECT_NE(error->message.find(sentence), std::string::npos) << error->message;
    EXPECT_EQ(rig.port->lost_count(LostReason::incomplete), 1U);
    EXPECT_EQ(rig.port->lost_all(), 1U);
    // Told, and without a slot.
    while (framelane_shm_wait_bell(&peer.producer.connection, kPatientMs) == 1) {
    }
    EXPECT_EQ(framelane_shm_wait_bell(&peer.producer.connection, 0), -EPIPE);
  }
  rig.close();
  Producer good(rig.path, "mono8", 8, 8);
  EXPECT_TRUE(rig.start().ok());
  EXPECT_EQ(good.joined(), 0);
}

// Whoever finds it: the source's thread or a worker that looks for itself.
void expect_breach(const std::function<void(framelane_shm_producer&, framelane_shm_frame&)>& act,
                   const std::string& sentence) {
  for (const bool looks : {false, true}) expect_breach_of(act, sentence, looks);
}

TEST(ShmHostile, ABreachEndsTheProducerAndNothingElse) {
  using P = framelane_shm_producer;
  using F = framelane_shm_frame;
  const auto submit = [](P& p, F& f) { EXPECT_LE(framelane_shm_submit(&p, &f), 0); };
  expect_breach([&](P& p, F& f) { f.slot = 6, submit(p, f); }, "slot 6 is not lent");
  expect_breach([&](P& p, F& f) { f.slot = UINT32_MAX, submit(p, f); }, "is not lent");
  expect_breach([&](P& p, F& f) { f.width = 17, submit(p, f); }, "17x8 does not fit");
  expect_breach([&](P& p, F& f) { f.height = 0, submit(p, f); }, "16x0 does not fit");
  expect_breach([&](P& p, F& f) { f.bytes = UINT64_MAX, submit(p, f); }, "larger than its slot");
  expect_breach([&](P& p, F& f) { p.control->filled_count = 1000, submit(p, f); }, "more frames than it has slots");
  expect_breach([&](P& p, F& f) { p.control->filled_count -= 2, submit(p, f); }, "more frames than it has slots");
  expect_breach([&](P& p, F& f) { p.control->lost_transport = UINT64_MAX, submit(p, f); }, "loss counter");
  expect_breach([&](P& p, F&) { EXPECT_EQ(::send(p.connection.socket, "unknown", 7, MSG_NOSIGNAL), 7); },
                "unknown message");
}

TEST(ShmHostile, TheSameSlotTwiceIsNotTakenTwice) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  Producer peer(rig.path, "mono8", 16, 8);
  ASSERT_TRUE(rig.start().ok());
  ASSERT_EQ(peer.joined(), 0);
  framelane_shm_frame frame;
  ASSERT_EQ(framelane_shm_acquire(&peer.producer, kPatientMs, &frame), 0);
  ASSERT_EQ(framelane_shm_submit(&peer.producer, &frame), 0);
  ASSERT_TRUE(rig.take());  // the worker holds it from here on
  (void)framelane_shm_submit(&peer.producer, &frame);
  const auto error = rig.port->wait_failed();
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("is not lent"), std::string::npos);
  EXPECT_EQ(rig.port->received, 1U);
}

TEST(ShmHostile, NeitherFileCanBeCutShort) {
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  const framelane_shm_hello hello = good_hello();
  framelane_shm_connection connection;
  std::thread client([&] { EXPECT_EQ(framelane_shm_join(&connection, rig.path.c_str(), &hello, kPatientMs), 0); });
  EXPECT_TRUE(rig.start().ok());
  client.join();
  for (const int fd : connection.fd) {
    EXPECT_NE(::ftruncate(fd, 0), 0);
    EXPECT_NE(::ftruncate(fd, 1 << 30), 0);
  }
  framelane_shm_disconnect(&connection);
}

// Scribbles over the control block while frames run.
TEST(ShmHostile, RandomWordsInTheControlBlockNeverHarmTheEngine) {
  std::mt19937_64 random(kSeed);
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  uint64_t delivered = 0;
  for (int round = 0; round < 200; ++round) {
    Producer peer(rig.path, "mono8", 16, 8);
    ASSERT_TRUE(rig.start().ok());
    ASSERT_EQ(peer.joined(), 0);
    framelane_shm_producer& p = peer.producer;
    auto* words = reinterpret_cast<uint64_t*>(p.control);
    const size_t count = p.connection.welcome.control_bytes / sizeof(uint64_t);
    framelane_shm_frame frame;
    for (uint64_t clean = random() % 10; clean > 0; --clean) {
      ASSERT_EQ(framelane_shm_acquire(&p, kPatientMs, &frame), 0);
      ASSERT_EQ(framelane_shm_submit(&p, &frame), 0);
      const auto filled = rig.take();
      ASSERT_TRUE(filled);
      rig.ring->release(filled->index);
    }
    for (bool connected = true; connected && random() % 50 != 0;) {
      if (framelane_shm_acquire(&p, 0, &frame) == 0 && framelane_shm_submit(&p, &frame) == -EPIPE) break;
      if (const auto filled = rig.ring->take()) rig.ring->release(filled->index);
      // Half of them at the counts and the first entries, where it hurts.
      const size_t word = random() % 2 == 0 ? random() % count : 8 + random() % 16;
      const uint64_t value = random() % 3 == 0 ? random() : words[word] + random() % 5 - 2;
      __atomic_store_n(&words[word], value, __ATOMIC_RELEASE);
      connected = framelane_shm_ring_bell(&p.connection) == 0;
    }
    peer.close();
    ASSERT_TRUE(rig.port->wait_failed());
    rig.source->stop();
    // Every slot is where it belongs: none is still lent.
    uint64_t full = 0;
    while (rig.ring->take()) ++full;
    for (SlotIndex slot = 0; slot < rig.ring->slots(); ++slot) EXPECT_FALSE(rig.ring->filling(slot));
    delivered += rig.port->received;
    rig.close();
  }
  EXPECT_GT(delivered, 500U);
}

// What a killed producer had done; shared with the test, written by the child.
struct Account {
  std::atomic<uint64_t> started{0};  // frames the device delivered to the producer
};

[[noreturn]] void produce_until_killed(const std::string& path, Account& account) {
  framelane_shm_producer producer;
  if (framelane_shm_open(&producer, path.c_str(), "mono8", 256, 64, 0, "victim", kPatientMs) != 0) ::_exit(1);
  for (;;) {
    framelane_shm_frame frame;
    if (framelane_shm_take(&producer, 0, &frame) == 0) {
      ++account.started;
      framelane_shm_begin(&producer, &frame);
      std::memset(frame.data, 1, frame.bytes);
      (void)framelane_shm_submit(&producer, &frame);
    } else {
      ++account.started;
      framelane_shm_lost(&producer, FRAMELANE_SHM_LOST_RING_FULL, 1);
    }
  }
}

TEST(ShmHostile, AProducerKilledAtAnyMomentLeavesAnExactSum) {
  std::mt19937 random(kSeed);
  const TemporaryFolder folder;
  Rig rig(folder.file("cam.sock"));
  void* shared = ::mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  uint64_t incomplete = 0;
  for (int round = 0; round < 50; ++round) {
    Account& account = *new (shared) Account;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) produce_until_killed(rig.path, account);
    ASSERT_TRUE(rig.start().ok());
    // Not a time but an amount of work: a kill by the clock would fall into the same place on a slow machine.
    const uint64_t frames = 1 + random() % 300;
    uint64_t processed = 0;
    while (account.started < frames && !rig.port->has_failed()) {
      if (const auto filled = rig.ring->take()) {
        ++processed;
        rig.ring->release(filled->index);
      }
    }
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const auto error = rig.port->wait_failed();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, ErrorCode::source_lost) << error->message;
    rig.source->stop();
    const uint64_t counted = rig.port->received + rig.port->lost_all();
    // The kill may fall between the child's own count and the ring's.
    EXPECT_TRUE(counted == account.started || counted + 1 == account.started) << counted << " of " << account.started;
    EXPECT_EQ(rig.port->received, processed + rig.port->overwritten + rig.ring->full());
    EXPECT_LE(rig.port->lost_count(LostReason::incomplete), 1U);
    incomplete += rig.port->lost_count(LostReason::incomplete);
    while (rig.ring->take()) {
    }
    for (SlotIndex slot = 0; slot < rig.ring->slots(); ++slot) EXPECT_FALSE(rig.ring->filling(slot));
    rig.close();
  }
  ::munmap(shared, sizeof(Account));
  RecordProperty("incomplete", static_cast<int>(incomplete));
}

}  // namespace
}  // namespace framelane::io::test
