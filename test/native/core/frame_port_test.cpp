#include "core/frame_port.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace framelane {
namespace {

// Thread-safety: one thread at a time.
class KeptEvents final : public EventListener {
 public:
  void on_event(Event event) noexcept override { kept.push_back(std::move(event)); }
  std::vector<Event> kept;
};

class RingPortTest : public ::testing::Test {
 protected:
  void begin(HandlingMode handling, uint32_t slots = 3) {
    RingConfig config{slots, handling, format_.bytes(), "test"};
    ring_ = Ring::create(config).take();
    port_.begin(*ring_, format_, handling);
  }
  bool put(uint64_t id, bool discontinuity = false) {
    const auto slot = port_.acquire();
    if (!slot) return false;
    FrameMeta meta;
    meta.frame_id = id;
    meta.size_bytes = 10;
    meta.discontinuity = discontinuity;
    port_.deliver(slot->index, meta);
    return true;
  }

  const FrameFormat format_ = FrameFormat::packed(PixelFormat::mono8, 10, 4);
  stats::SourceGroup cells_{};
  std::shared_ptr<Attention> attention_ = std::make_shared<Attention>();
  KeptEvents events_;
  EventReporter reporter_{"press-left", events_};
  RingPort port_{cells_, attention_, reporter_};
  std::unique_ptr<Ring> ring_;
};

TEST_F(RingPortTest, CountsWhatReachedASlot) {
  begin(HandlingMode::oldest_first);
  for (uint64_t id = 0; id < 3; ++id) EXPECT_TRUE(put(id));
  EXPECT_FALSE(put(3));
  port_.lost(LostReason::ring_full, 1);
  EXPECT_EQ(cells_.received.load(), 3U);
  EXPECT_EQ(cells_.received_bytes.load(), 30U);
  EXPECT_EQ(cells_.lost_ring_full.load(), 1U);
  EXPECT_EQ(cells_.last_frame_id.load(), 2U);
  EXPECT_GT(cells_.last_arrival_ns.load(), 0U);
  EXPECT_EQ(cells_.sequence.load() % 2, 0U);
}

TEST_F(RingPortTest, PassesANoticeOnAndCountsNothing) {
  begin(HandlingMode::oldest_first);
  port_.notice({ErrorCode::source_malformed, "film.y4m ends within a frame"});
  ASSERT_EQ(events_.kept.size(), 1U);
  EXPECT_EQ(events_.kept[0].channel, "press-left");
  EXPECT_EQ(events_.kept[0].message, "film.y4m ends within a frame");
  EXPECT_EQ(port_.end(), SourceEnd::none);
  EXPECT_EQ(cells_.received.load() + cells_.lost_incomplete.load(), 0U);
}

TEST_F(RingPortTest, NamesWhatItOverwrites) {
  begin(HandlingMode::oldest_first_overwrite);
  for (uint64_t id = 0; id < 5; ++id) EXPECT_TRUE(put(id));
  EXPECT_EQ(cells_.dropped_overwritten.load(), 2U);
  EXPECT_EQ(cells_.dropped_superseded.load(), 0U);
}

TEST_F(RingPortTest, NamesWhatItSupersedes) {
  begin(HandlingMode::newest_only);
  for (uint64_t id = 0; id < 5; ++id) EXPECT_TRUE(put(id));
  EXPECT_EQ(cells_.dropped_superseded.load(), 4U);
  EXPECT_EQ(cells_.received.load(), 5U);
}

TEST_F(RingPortTest, MissingIdsAreLostUnlessExplained) {
  begin(HandlingMode::newest_only);
  put(10);
  put(13);  // 11 and 12
  EXPECT_EQ(cells_.lost_id_gap.load(), 2U);
  port_.lost(LostReason::transport, 2);
  put(16);  // 14 and 15: known
  EXPECT_EQ(cells_.lost_id_gap.load(), 2U);
  put(3, true);
  put(2);           // backwards: another count
  put(50, true);    // the source says so
  put(UINT64_MAX);  // no pause explains that
  EXPECT_EQ(cells_.lost_id_gap.load(), 2U);
}

TEST_F(RingPortTest, DeliveredExtentsStayWithinTheFormat) {
  begin(HandlingMode::oldest_first);
  const auto slot = port_.acquire();
  FrameMeta meta;
  meta.width = 1000;
  port_.deliver(slot->index, meta);
  const auto frame = ring_->take();
  EXPECT_EQ(frame->meta.width, 10U);
  EXPECT_EQ(frame->meta.height, 4U);
  EXPECT_GT(frame->meta.arrival_ns, 0);
}

TEST_F(RingPortTest, AForeignSlotIsNotCounted) {
  begin(HandlingMode::oldest_first);
  port_.deliver(2, {});
  port_.deliver(99, {});
  EXPECT_EQ(cells_.received.load(), 0U);
}

TEST_F(RingPortTest, RequestStopEndsTheWaitForASlot) {
  begin(HandlingMode::oldest_first, 2);
  put(0);
  put(1);
  std::thread worker([&] { port_.request_stop(); });
  EXPECT_FALSE(port_.acquire_wait());
  worker.join();
  EXPECT_TRUE(port_.stopping());
}

TEST_F(RingPortTest, TheEndRaisesTheWorkersAttention) {
  begin(HandlingMode::oldest_first);
  EXPECT_FALSE(attention_->take());
  port_.failed({ErrorCode::source_lost, "gone"});
  EXPECT_TRUE(attention_->take());
  EXPECT_EQ(port_.end(), SourceEnd::failed);
  EXPECT_EQ(port_.error().message, "gone");
  port_.begin(*ring_, format_, HandlingMode::oldest_first);
  EXPECT_EQ(port_.end(), SourceEnd::none);
}

}  // namespace
}  // namespace framelane
