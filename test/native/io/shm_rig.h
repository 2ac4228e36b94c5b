// What the tests of the shared-memory ring stand on: a port over a real ring, and a channel's end of it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/ring.h"
#include "core/source.h"
#include "framelane/shm_ring.h"
#include "io/sources/shm.h"

namespace framelane::io::test {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int kPatientMs = 20000;

// A directory that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "framelane-shm-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Counts as the channel does. Thread-safety: the source's thread writes, the test reads at any time.
class RingPort final : public FramePort {
 public:
  explicit RingPort(Ring& ring) : ring_(ring) {}

  std::optional<FillSlot> acquire() noexcept override {
    const auto acquired = ring_.acquire();
    if (!acquired) return std::nullopt;
    if (acquired->overwrote) ++overwritten;
    return FillSlot{acquired->slot, ring_.slot_data(acquired->slot), ring_.slot_stride_bytes()};
  }
  std::optional<FillSlot> acquire_wait() noexcept override {
    const auto slot = ring_.acquire_free(monotonic_now_ns() + 60 * kSecondNs);
    if (!slot) return std::nullopt;
    return FillSlot{*slot, ring_.slot_data(*slot), ring_.slot_stride_bytes()};
  }
  void deliver(SlotIndex slot, const FrameMeta& meta) noexcept override {
    EXPECT_TRUE(ring_.filling(slot));
    ++received;
    overwritten += ring_.deliver(slot, meta);
  }
  void cancel(SlotIndex slot) noexcept override {
    EXPECT_TRUE(ring_.filling(slot));
    ring_.cancel(slot);
  }
  void lost(LostReason reason, uint64_t frames) noexcept override { lost_[static_cast<size_t>(reason)] += frames; }
  void finished() noexcept override { ADD_FAILURE() << "a shm source never finishes"; }
  void failed(Error error) noexcept override {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    changed_.notify_all();
  }
  void format_changed(const FrameFormat&) noexcept override { ADD_FAILURE() << "the producer must connect again"; }
  bool stopping() const noexcept override { return false; }

  [[nodiscard]] uint64_t lost_count(LostReason reason) const { return lost_[static_cast<size_t>(reason)]; }
  [[nodiscard]] uint64_t lost_all() const {
    uint64_t sum = 0;
    for (const auto& count : lost_) sum += count;
    return sum;
  }
  // Waits until the source has given up.
  [[nodiscard]] std::optional<Error> wait_failed() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(kPatientMs), [&] { return error_.has_value(); });
    return error_;
  }
  [[nodiscard]] bool has_failed() {
    const std::lock_guard lock(mutex_);
    return error_.has_value();
  }

  std::atomic<uint64_t> received{0};
  std::atomic<uint64_t> overwritten{0};

 private:
  Ring& ring_;
  std::atomic<uint64_t> lost_[4]{};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> error_;
};

// A source with a ring, driven as a channel's worker drives it. Thread-safety: the test's thread.
struct Rig {
  explicit Rig(std::string socket_path, HandlingMode handling = HandlingMode::oldest_first_overwrite,
               uint32_t slot_count = 6, int64_t hello_timeout_ns = kSecondNs)
      : path(std::move(socket_path)), mode(handling), slots(slot_count) {
    auto made =
        make_shm_source({.path = path, .open_timeout_ns = 20 * kSecondNs, .hello_timeout_ns = hello_timeout_ns});
    EXPECT_TRUE(made.ok());
    source = made.take();
  }
  ~Rig() { close(); }

  // The producer must be on its way: open() waits for it.
  [[nodiscard]] Status start() {
    Result<FrameFormat> opened = source->open();
    if (!opened) return opened.error();
    format = opened.value();
    auto created = Ring::create({.slots = slots, .handling = mode, .slot_bytes = format.bytes(), .owner = "test"});
    if (!created) return created.error();
    ring = created.take();
    port = std::make_unique<RingPort>(*ring);
    if (Status announced = source->announce(*ring); !announced) return announced;
    return source->start(*port);
  }
  void close() {
    source->stop();
    source->close();
  }
  // The next frame, waiting for it.
  [[nodiscard]] std::optional<FilledSlot> take() {
    const MonotonicNs deadline_ns = monotonic_now_ns() + 20 * kSecondNs;
    while (monotonic_now_ns() < deadline_ns) {
      if (auto filled = ring->take()) return filled;
      ring->wait_full(deadline_ns);
    }
    return std::nullopt;
  }

  const std::string path;
  const HandlingMode mode;
  const uint32_t slots;
  FrameFormat format;
  std::unique_ptr<Source> source;
  std::unique_ptr<Ring> ring;
  std::unique_ptr<RingPort> port;
};

// Connects on another thread while the source opens on this one.
class Producer {
 public:
  Producer(const std::string& path, const char* format, uint32_t width, uint32_t height, double fps = 0)
      : thread_([=, this] {
          code_ = framelane_shm_open(&producer, path.c_str(), format, width, height, fps, "test", kPatientMs);
        }) {}
  ~Producer() {
    if (joined() == 0) framelane_shm_close(&producer);
  }
  int joined() {
    if (thread_.joinable()) thread_.join();
    return code_;
  }
  void close() {
    framelane_shm_close(&producer);
    code_ = -1;
  }

  framelane_shm_producer producer{};

 private:
  int code_ = -1;
  std::thread thread_;
};

// Connections that say nothing.
class SilentClients {
 public:
  // Waits until somebody listens.
  SilentClients(const std::string& path, size_t count) : connections_(count, {-1, {-1, -1}, {}, {}}) {
    for (framelane_shm_connection& connection : connections_) {
      int code = -1;
      for (const MonotonicNs until = monotonic_now_ns() + 20 * kSecondNs; code != 0 && monotonic_now_ns() < until;) {
        code = framelane_shm_dial(&connection, path.c_str());
        if (code != 0) std::this_thread::yield();
      }
      EXPECT_EQ(code, 0);
    }
  }
  ~SilentClients() {
    for (framelane_shm_connection& connection : connections_) framelane_shm_disconnect(&connection);
  }
  SilentClients(const SilentClients&) = delete;
  SilentClients& operator=(const SilentClients&) = delete;

  // Whether the engine has said something to this one, or has hung up, within some time.
  [[nodiscard]] bool heard(size_t client, int timeout_ms) const {
    pollfd waiting{connections_[client].socket, POLLIN, 0};
    return ::poll(&waiting, 1, timeout_ms) > 0;
  }

 private:
  std::vector<framelane_shm_connection> connections_;
};

}  // namespace framelane::io::test
