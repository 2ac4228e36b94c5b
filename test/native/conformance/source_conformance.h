// What every Source keeps. A layer's tests include this in one file only and instantiate it there:
//   INSTANTIATE_TEST_SUITE_P(Pattern, SourceConformance, ::testing::Values(SourceCase{"pattern", make_pattern}));
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/attention.h"
#include "core/ring.h"
#include "core/source.h"

namespace framelane::conformance {

struct SourceCase {
  std::string name;
  std::function<std::unique_ptr<Source>()> make;
  std::optional<uint64_t> frames;  // a source that ends: how many it delivers into a ring that always has room
};

inline std::ostream& operator<<(std::ostream& out, const SourceCase& source) {
  return out << source.name;
}

// A port on a ring that checks how it is called. Thread-safety: as FramePort; the counts from any thread.
class CheckedPort final : public FramePort {
 public:
  CheckedPort(Ring& ring, const FrameFormat& format) : ring_(ring), format_(format) {}

  std::optional<FillSlot> acquire() noexcept override {
    check_call();
    const auto acquired = ring_.acquire();
    if (!acquired) return std::nullopt;
    if (acquired->overwrote) ++dropped;
    return FillSlot{acquired->slot, ring_.slot_data(acquired->slot), ring_.slot_stride_bytes()};
  }
  std::optional<FillSlot> acquire_wait() noexcept override {
    check_call();
    while (!stopping_.load()) {
      const auto slot = ring_.acquire_free(monotonic_now_ns() + 1'000'000'000);
      if (slot) return FillSlot{*slot, ring_.slot_data(*slot), ring_.slot_stride_bytes()};
    }
    return std::nullopt;
  }
  void deliver(SlotIndex slot, const FrameMeta& meta) noexcept override {
    check_call();
    if (!ring_.filling(slot)) ++violations;
    if (meta.width == 0 || meta.width > format_.width || meta.height == 0 || meta.height > format_.height) ++violations;
    if (meta.size_bytes == 0 || meta.size_bytes > ring_.slot_stride_bytes()) ++violations;
    if (meta.arrival_ns <= 0 || meta.arrival_ns > monotonic_now_ns()) ++violations;
    if (has_id_ && !meta.discontinuity && meta.frame_id <= last_id_) ++violations;
    has_id_ = true;
    last_id_ = meta.frame_id;
    dropped += ring_.deliver(slot, meta);
    ++received;
    changed.notify();
  }
  void cancel(SlotIndex slot) noexcept override {
    check_call();
    if (!ring_.filling(slot)) ++violations;
    ring_.cancel(slot);
  }
  void lost(LostReason, uint64_t frames) noexcept override {
    check_call();
    lost_frames += frames;
  }
  void finished() noexcept override { end(); }
  void failed(Error) noexcept override { end(); }
  void format_changed(const FrameFormat&) noexcept override { end(); }
  bool stopping() const noexcept override { return stopping_.load(); }

  void request_stop() {
    stopping_.store(true);
    ring_.wake_source();
  }
  void close() { closed_.store(true); }

  std::atomic<uint64_t> received{0};
  std::atomic<uint64_t> lost_frames{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> ended{0};
  std::atomic<uint64_t> violations{0};  // calls that the interface forbids
  Signal changed;

 private:
  void end() {
    check_call();
    ++ended;
    changed.notify();
  }
  void check_call() {
    if (closed_.load() || ended.load() != 0) ++violations;
    if (!has_thread_) {
      has_thread_ = true;
      thread_ = std::this_thread::get_id();
    }
    if (thread_ != std::this_thread::get_id()) ++violations;
  }

  Ring& ring_;
  const FrameFormat format_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> closed_{false};
  bool has_thread_ = false;
  std::thread::id thread_;
  bool has_id_ = false;
  uint64_t last_id_ = 0;
};

class SourceConformance : public ::testing::TestWithParam<SourceCase> {
 protected:
  static constexpr int64_t kPatienceNs = 60'000'000'000;

  void open() {
    source_ = GetParam().make();
    ASSERT_NE(source_, nullptr);
    Result<FrameFormat> format = source_->open();
    ASSERT_TRUE(format.ok()) << format.error().message;
    format_ = format.value();
    ASSERT_GT(format_.width, 0U);
    ASSERT_GT(format_.height, 0U);
    ASSERT_GE(format_.bytes(), FrameFormat::packed(format_.pixel, format_.width, format_.height).bytes());
  }
  void begin(HandlingMode handling) {
    RingConfig config;
    config.slots = 4;
    config.handling = handling;
    config.slot_bytes = format_.bytes();
    config.owner = "conformance";
    Result<std::unique_ptr<Ring>> ring = Ring::create(config);
    ASSERT_TRUE(ring.ok()) << ring.error().message;
    ring_ = ring.take();
    port_ = std::make_unique<CheckedPort>(*ring_, format_);
    const Status announced = source_->announce(*ring_);
    ASSERT_TRUE(announced.ok()) << announced.error().message;
    const Status started = source_->start(*port_);
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void end() {
    port_->request_stop();
    source_->stop();
    port_->close();
  }
  // Takes frames until `enough` or the end of the source.
  template <typename Predicate>
  bool drain(Predicate enough) {
    const MonotonicNs until = monotonic_now_ns() + kPatienceNs;
    while (monotonic_now_ns() < until) {
      const bool last_round = enough() || port_->ended.load() != 0;
      while (const auto frame = ring_->take()) {
        ring_->release(frame->index);
        ++taken_;
      }
      if (last_round) return true;
      ring_->wait_full(monotonic_now_ns() + 5'000'000);
    }
    return false;
  }
  bool wait_for_frames(uint64_t frames) {
    return drain([&] { return port_->received.load() >= frames; });
  }

  FrameFormat format_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<CheckedPort> port_;
  uint64_t taken_ = 0;
  std::unique_ptr<Source> source_;  // last: it goes before the port and the ring
};

TEST_P(SourceConformance, DeliversWholeFramesByTheRules) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(begin(HandlingMode::oldest_first));
  ASSERT_TRUE(wait_for_frames(3));
  end();
  EXPECT_GT(port_->received.load(), 0U);
  EXPECT_EQ(port_->violations.load(), 0U);
  source_->close();
}

TEST_P(SourceConformance, EveryFrameIsTakenOrNamed) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(
      begin(source_->traits().live ? HandlingMode::oldest_first_overwrite : HandlingMode::oldest_first));
  ASSERT_TRUE(wait_for_frames(8));
  end();
  drain([] { return true; });
  EXPECT_EQ(port_->received.load(), taken_ + port_->dropped.load());
  EXPECT_EQ(port_->violations.load(), 0U);
  source_->close();
}

TEST_P(SourceConformance, StopsWhileTheRingIsFull) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(begin(HandlingMode::oldest_first));
  const uint64_t frames = std::min<uint64_t>(4, GetParam().frames.value_or(4));
  ASSERT_TRUE(
      port_->changed.wait_until(monotonic_now_ns() + kPatienceNs, [&] { return port_->received.load() >= frames; }));
  end();
  EXPECT_EQ(port_->violations.load(), 0U);
}

TEST_P(SourceConformance, GoesOnAfterAStopWithAnotherRing) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(begin(HandlingMode::oldest_first));
  ASSERT_TRUE(wait_for_frames(1));
  end();
  const bool ended = port_->ended.load() != 0;
  ASSERT_NO_FATAL_FAILURE(begin(HandlingMode::oldest_first));
  if (!ended) {
    ASSERT_TRUE(wait_for_frames(1));
    EXPECT_GT(port_->received.load() + port_->ended.load(), 0U);
  }
  end();
  EXPECT_EQ(port_->violations.load(), 0U);
  source_->close();
}

TEST_P(SourceConformance, EndsOnceWithAllItsFrames) {
  ASSERT_NO_FATAL_FAILURE(open());
  if (!GetParam().frames) {
    ASSERT_NO_FATAL_FAILURE(begin(HandlingMode::oldest_first));
    ASSERT_TRUE(wait_for_frames(2));
    EXPECT_EQ(port_->ended.load(), 0U);
    end();
    return;
  }
  ASSERT_NO_FATAL_FAILURE(begin(HandlingMode::oldest_first));
  ASSERT_TRUE(drain([&] { return port_->ended.load() != 0; }));
  end();
  EXPECT_EQ(port_->ended.load(), 1U);
  EXPECT_EQ(port_->received.load() + port_->lost_frames.load(), *GetParam().frames);
  if (source_->traits().paced_max) {
    EXPECT_EQ(port_->received.load(), *GetParam().frames);
  }
  EXPECT_EQ(port_->violations.load(), 0U);
}

TEST_P(SourceConformance, AnInterruptBeforeOpenDoesNotLetItHang) {
  source_ = GetParam().make();
  source_->interrupt();
  const Result<FrameFormat> format = source_->open();  // either answer; the test's time-out is the check
  if (format.ok()) source_->close();
}

TEST_P(SourceConformance, GoesWithoutBeingClosed) {
  ASSERT_NO_FATAL_FAILURE(open());
  source_.reset();
  source_ = GetParam().make();
  source_.reset();
}

}  // namespace framelane::conformance
