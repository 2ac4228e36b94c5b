#include "core/sink_runner.h"

#include <gtest/gtest.h>

#include "fakes/channel_bench.h"

namespace framelane {
namespace {

using fakes::eventually;
using fakes::SinkScript;

class SinkRunnerTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kQueue = 2;

  SinkRunnerTest() {
    Result<std::shared_ptr<OutputPool>> pool = OutputPool::create("test", device_, {&format_, 1}, kQueue + 2);
    pool_ = pool.take();
  }
  void start(SinkFull on_full, std::unique_ptr<SinkRunner> predecessor = nullptr) {
    SinkRunnerConfig config;
    config.channel = "test";
    config.spec.name = "fake 0";
    config.spec.make = [script = script_] { return std::make_unique<fakes::FakeSink>(script); };
    config.spec.queue = kQueue;
    config.spec.on_full = on_full;
    config.index = 3;
    config.format = format_;
    config.retry = {1'000'000, 4'000'000};
    runner_ = std::make_unique<SinkRunner>(config, pool_, cells_, events_, attention_, std::move(predecessor));
  }
  void offer(uint64_t sequence) {
    const uint32_t slot = pool_->acquire();
    ResultFrame& frame = pool_->frame(slot);
    std::memset(pool_->data(slot, 0), static_cast<int>(sequence & 0xff), format_.bytes());
    frame.view = {pool_->data(slot, 0), format_, MemoryKind::host};
    frame.meta.frame_id = sequence;
    frame.sequence = sequence;
    runner_->offer(slot, [this] { return leave_.load(); });
    pool_->give_up(slot);
  }
  void let_go() {
    script_->hold.store(false);
    script_->changed.notify();
  }
  void finish() {
    runner_->finish();
    EXPECT_EQ(pool_->held(), 0U);
    EXPECT_EQ(script_->torn.load() + script_->misused.load() + script_->out_of_order.load(), 0U);
  }

  const FrameFormat format_ = FrameFormat::packed(PixelFormat::mono8, 16, 4);
  std::shared_ptr<fakes::PipelineScript> pipeline_ = std::make_shared<fakes::PipelineScript>();
  fakes::FakeDevice device_{pipeline_};
  fakes::RecordingListener listener_;
  EventReporter events_{"test", listener_};
  std::shared_ptr<Attention> attention_ = std::make_shared<Attention>();
  std::shared_ptr<OutputPool> pool_;
  stats::SinkGroup cells_{};
  std::shared_ptr<SinkScript> script_ = std::make_shared<SinkScript>();
  std::atomic<bool> leave_{false};
  std::unique_ptr<SinkRunner> runner_;
};

TEST_F(SinkRunnerTest, AFullQueueDropsTheNewest) {
  start(SinkFull::drop_newest);
  script_->hold.store(true);
  for (uint64_t i = 0; i < 20; ++i) offer(i);
  EXPECT_GE(cells_.dropped.load(), 20U - 1 - kQueue);
  let_go();
  finish();
  EXPECT_LT(script_->last_sequence.load(), 19U);
  EXPECT_EQ(cells_.written + cells_.dropped, 20U);
}

TEST_F(SinkRunnerTest, AFullQueueDropsTheOldest) {
  start(SinkFull::drop_oldest);
  script_->hold.store(true);
  for (uint64_t i = 0; i < 20; ++i) offer(i);
  let_go();
  finish();
  EXPECT_EQ(script_->last_sequence.load(), 19U);
  EXPECT_EQ(cells_.written + cells_.dropped, 20U);
}

TEST_F(SinkRunnerTest, WaitLosesNothing) {
  start(SinkFull::wait);
  script_->write_ns.store(100'000);
  for (uint64_t i = 0; i < 50; ++i) offer(i);
  finish();
  EXPECT_EQ(cells_.written.load(), 50U);
  EXPECT_EQ(cells_.dropped.load(), 0U);
}

TEST_F(SinkRunnerTest, WaitEndsWhenTheChannelLeaves) {
  start(SinkFull::wait);
  script_->hold.store(true);
  std::thread control([&] {
    leave_.store(true);
    attention_->raise();
  });
  for (uint64_t i = 0; i < 5; ++i) offer(i);  // one in write(), two queued: the others have no room
  control.join();
  EXPECT_GE(cells_.dropped.load(), 2U);
  let_go();
  finish();
}

TEST_F(SinkRunnerTest, AFailedWriteIsCountedAndTheSinkOpenedAgain) {
  start(SinkFull::wait);
  script_->fail_write_at.store(1);
  for (uint64_t i = 0; i < 3; ++i) offer(i);
  ASSERT_TRUE(listener_.wait_for_code(ErrorCode::sink_failed));
  for (const Event& event : listener_.events()) EXPECT_EQ(event.sink, event.code == ErrorCode::sink_failed ? 3 : -1);
  ASSERT_TRUE(eventually([&] { return script_->opens.load() == 2; }));
  ASSERT_TRUE(eventually([&] { return cells_.error_code.load() == 0; }));
  offer(3);
  finish();
  EXPECT_GE(cells_.failed.load(), 1U);
  EXPECT_EQ(cells_.written + cells_.failed, 4U);
  EXPECT_EQ(script_->closes.load(), 2U);
}

TEST_F(SinkRunnerTest, ASinkThatDoesNotOpenHoldsNobodyUp) {
  script_->fail_open.store(true);
  start(SinkFull::wait);
  for (uint64_t i = 0; i < 100; ++i) offer(i);
  ASSERT_TRUE(eventually([&] { return cells_.failed.load() == 100; }));
  EXPECT_EQ(cells_.error_code.load(), static_cast<uint64_t>(ErrorCode::sink_failed));
  script_->fail_open.store(false);
  ASSERT_TRUE(eventually([&] { return cells_.error_code.load() == 0; }));
  offer(100);
  finish();
  EXPECT_EQ(cells_.written.load(), 1U);
  EXPECT_EQ(script_->closes.load(), 1U);
}

TEST_F(SinkRunnerTest, ASlowSinkIsGivenASecondToFinish) {
  start(SinkFull::drop_newest);
  script_->write_ns.store(700'000'000);
  for (uint64_t i = 0; i < 3; ++i) offer(i);
  const MonotonicNs before = monotonic_now_ns();
  finish();
  EXPECT_LT(monotonic_now_ns() - before, 5'000'000'000);
  EXPECT_EQ(cells_.written + cells_.dropped, 3U);
  EXPECT_EQ(script_->closes.load(), 1U);
}

TEST_F(SinkRunnerTest, ASuccessorFinishesItsPredecessorAndKeepsItsSink) {
  start(SinkFull::wait);
  for (uint64_t i = 0; i < 5; ++i) offer(i);
  start(SinkFull::wait, std::move(runner_));
  for (uint64_t i = 5; i < 10; ++i) offer(i);
  finish();
  EXPECT_EQ(cells_.written.load(), 10U);
  EXPECT_EQ(script_->opens.load(), 2U);
  EXPECT_EQ(script_->closes.load(), 2U);
}

}  // namespace
}  // namespace framelane
