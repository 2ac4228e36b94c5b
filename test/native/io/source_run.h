// Runs a source against a real ring, with a port that counts and remembers what the source says last.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ring.h"
#include "core/signal.h"
#include "core/source.h"
#include "io/make.h"

namespace framelane::io::test {

inline constexpr MonotonicNs kPatienceNs = 30'000'000'000;  // only a test that fails waits so long

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "framelane-io-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Thread-safety: FramePort by the source's thread; the rest by the test's.
class CountingPort final : public FramePort {
 public:
  explicit CountingPort(Ring& ring) : ring_(ring) {}

  std::optional<FillSlot> acquire() noexcept override {
    const auto acquired = ring_.acquire();
    if (!acquired) return std::nullopt;
    if (acquired->overwrote) ++dropped;
    return FillSlot{acquired->slot, ring_.slot_data(acquired->slot), ring_.slot_stride_bytes()};
  }
  std::optional<FillSlot> acquire_wait() noexcept override {
    while (!stopping_) {
      if (const auto slot = ring_.acquire_free(monotonic_now_ns() + kPatienceNs))
        return FillSlot{*slot, ring_.slot_data(*slot), ring_.slot_stride_bytes()};
    }
    return std::nullopt;
  }
  void deliver(SlotIndex slot, const FrameMeta& meta) noexcept override {
    EXPECT_FALSE(over()) << "delivers after its end";
    ++received;
    dropped += ring_.deliver(slot, meta);
  }
  void cancel(SlotIndex slot) noexcept override { ring_.cancel(slot); }
  void lost(LostReason reason, uint64_t frames) noexcept override { lost_[static_cast<size_t>(reason)] += frames; }
  void notice(const Error& error) noexcept override { notices.push_back(error); }
  void finished() noexcept override { end_with(End::finished); }
  void failed(Error error) noexcept override {
    error_ = std::move(error);
    end_with(End::failed);
  }
  void format_changed(const FrameFormat& format) noexcept override {
    format_ = format;
    end_with(End::format_changed);
  }
  [[nodiscard]] bool stopping() const noexcept override { return stopping_; }

  void request_stop() {
    stopping_ = true;
    ring_.wake_source();
  }
  enum class End : uint8_t { none, finished, failed, format_changed };
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] bool over() const { return end_ != End::none; }
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] const FrameFormat& new_format() const { return format_; }
  [[nodiscard]] uint64_t lost_count(LostReason reason) const { return lost_[static_cast<size_t>(reason)]; }
  [[nodiscard]] uint64_t lost_all() const {
    uint64_t sum = 0;
    for (const auto& count : lost_) sum += count;
    return sum;
  }

  std::atomic<uint64_t> received{0};
  std::atomic<uint64_t> dropped{0};
  std::vector<Error> notices;  // read it after the source has stopped

 private:
  void end_with(End end) {
    EXPECT_FALSE(over()) << "ends twice";
    end_ = end;
    ring_.wake();
  }

  Ring& ring_;
  std::atomic<uint64_t> lost_[4]{};
  std::atomic<bool> stopping_{false};
  Error error_;
  FrameFormat format_;
  std::atomic<End> end_{End::none};
};

using End = CountingPort::End;

struct TakenFrame {
  FrameMeta meta;
  std::vector<std::byte> bytes;
};

// One source from open() on. A step that fails fails the test.
class SourceRun {
 public:
  SourceRun(const std::string& type, const Fields& fields, HandlingMode handling, uint32_t slots = 4,
            const std::optional<Phase>& phase = std::nullopt)
      : handling_(handling), slots_(slots) {
    Result<std::unique_ptr<Source>> made = make_source(type, fields, phase);
    if (!made) {
      ADD_FAILURE() << made.error().message;
      std::abort();
    }
    source_ = made.take();
  }
  ~SourceRun() {
    stop();
    source_->close();
  }

  void open() {
    Result<FrameFormat> opened = source_->open();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    format = opened.value();
    prepare();
  }
  // A new ring for `format`, announced.
  void prepare() {
    auto ring = Ring::create({.slots = slots_, .handling = handling_, .slot_bytes = format.bytes(), .owner = "test"});
    ASSERT_TRUE(ring.ok()) << ring.error().message;
    ring_ = ring.take();
    ASSERT_TRUE(source_->announce(*ring_).ok());
  }
  void start() {
    port_ = std::make_unique<CountingPort>(*ring_);
    ASSERT_TRUE(source_->start(*port_).ok());
  }
  void stop() {
    if (port_) port_->request_stop();
    source_->stop();
    if (ring_) ring_->reclaim();
  }

  // The next frame, its slot given back at once. Empty: the source has come to its end.
  std::optional<TakenFrame> next() {
    const MonotonicNs deadline_ns = monotonic_now_ns() + kPatienceNs;
    for (;;) {
      const bool over = port_->over();  // before take(): what was delivered before the end is seen
      if (const auto filled = ring_->take()) {
        TakenFrame frame{filled->meta, {filled->data, filled->data + format.bytes()}};
        ring_->release(filled->index);
        return frame;
      }
      if (over) return std::nullopt;
      if (monotonic_now_ns() > deadline_ns) {
        ADD_FAILURE() << "no frame and no end";
        return std::nullopt;
      }
      ring_->wait_full(monotonic_now_ns() + 100'000'000);
    }
  }
  std::vector<TakenFrame> all() {
    std::vector<TakenFrame> frames;
    while (auto frame = next()) frames.push_back(std::move(*frame));
    return frames;
  }

  Source& source() { return *source_; }
  CountingPort& port() { return *port_; }
  Ring& ring() { return *ring_; }

  FrameFormat format;

 private:
  HandlingMode handling_;
  uint32_t slots_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<CountingPort> port_;
};

// By how much the most punctual of its next frames came after a moment of `phase`; as good as none where they are due
// then. A machine that is busy makes some frames late, not all.
inline MonotonicNs least_late_ns(SourceRun& run, double fps, const Phase& phase) {
  const auto period_ns = static_cast<MonotonicNs>(1e9 / fps);
  MonotonicNs least_ns = period_ns;
  for (int i = 0; i < 20 && least_ns > period_ns / 16; ++i) {
    const auto frame = run.next();
    if (!frame) break;
    const MonotonicNs arrival_ns = frame->meta.arrival_ns;
    least_ns = std::min(least_ns, arrival_ns + period_ns - first_due_ns(arrival_ns + 1, fps, phase));
  }
  return least_ns;
}

// Why a source cannot be made or opened; "opened" where it can.
inline std::string open_error(const std::string& type, const Fields& fields) {
  auto made = make_source(type, fields);
  if (!made) return made.error().message;
  const auto opened = made.value()->open();
  return opened ? "opened" : std::string(to_string(opened.error().code)) + " " + opened.error().message;
}

}  // namespace framelane::io::test
