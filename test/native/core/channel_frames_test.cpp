// A channel and its pipeline and sinks: frames, lanes, parameters, replacement.
#include <cmath>

#include "core/channel.h"
#include "native/core/channel_fixture.h"

namespace framelane {
namespace {

TEST_F(ChannelTest, ABadPipelineIsFaultedUntilItIsReplaced) {
  bench.spec.pipeline.operations = {{"invalid", {}}};
  Channel& channel = bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::faulted));
  EXPECT_EQ(bench.worker(&WorkerGroup::error_code), static_cast<uint64_t>(ErrorCode::pipeline_invalid));
  EXPECT_FALSE(channel.set_parameter("gain.value", 1).ok());
  channel.start();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::faulted));
  channel.replace_pipeline({});
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::running));
  stop();
}

TEST_F(ChannelTest, OneBadFrameIsDroppedAndTheNextIsFine) {
  play_file(50);
  bench.pipeline->fail_from.store(10);
  bench.pipeline->fail_until.store(12);
  bench.pipeline->refuse_at.store(20);
  bench.spec.in_flight = 3;
  const auto sink = std::make_shared<SinkScript>();
  bench.add_sink(sink, 4, SinkFull::wait);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.worker(&WorkerGroup::dropped_error), 3U);
  EXPECT_EQ(bench.worker(&WorkerGroup::processed), 47U);
  EXPECT_EQ(sink->last_sequence.load(), 46U);
  EXPECT_GE(bench.listener.count(ErrorCode::pipeline_failed), 1U);
  EXPECT_LE(bench.listener.count(ErrorCode::pipeline_failed), 3U);
  EXPECT_TRUE(bench.adds_up());
}

TEST_F(ChannelTest, APipelineThatOnlyFailsIsMadeAnew) {
  bench.pipeline->fail_from.store(5);
  bench.pipeline->fail_until.store(15);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::backoff));
  ASSERT_TRUE(processes(20));
  EXPECT_EQ(bench.worker(&WorkerGroup::restarts_pipeline), 1U);
  EXPECT_EQ(bench.worker(&WorkerGroup::compilations), 2U);
  EXPECT_GE(bench.worker(&WorkerGroup::dropped_error), 10U);
  stop();
}

TEST_F(ChannelTest, LateFramesAreDroppedWhenAskedFor) {
  bench.spec.deadline_ns = 1'000'000;
  bench.spec.on_overload = OnOverload::drop_late;
  bench.spec.handling = HandlingMode::oldest_first;
  bench.source.interval_ns = 500'000;
  bench.pipeline->compute_ns.store(3'000'000);
  bench.make();
  ASSERT_TRUE(eventually([&] { return bench.worker(&WorkerGroup::dropped_late) >= 10; }));
  EXPECT_GT(bench.worker(&WorkerGroup::deadline_missed), 0U);
  stop();
}

// Many in a row: they are no reason to make the pipeline anew, and none is lost to the count.
TEST_F(ChannelTest, FramesThatTheDeviceHasNoTimeForAreDroppedLate) {
  bench.pipeline->late_from.store(5);
  bench.pipeline->late_until.store(35);
  bench.make();
  ASSERT_TRUE(processes(20));
  EXPECT_EQ(bench.worker(&WorkerGroup::dropped_late), 30U);
  EXPECT_EQ(bench.worker(&WorkerGroup::dropped_error), 0U);
  EXPECT_EQ(bench.worker(&WorkerGroup::restarts_pipeline), 0U);
  EXPECT_EQ(bench.listener.count(ErrorCode::frame_late), 0U);
  stop();
}

TEST_F(ChannelTest, ASpinningWorkerLooksAtASteadySourceAndHearsCommands) {
  std::atomic<uint64_t> looks{0};
  bench.spec.wait = Wait::spin;
  bench.source.interval_ns = 2'000'000;
  bench.source.on_look = [&] { ++looks; };
  Channel& channel = bench.make();
  ASSERT_TRUE(eventually([&] { return looks > 1000; }));
  EXPECT_TRUE(channel.set_parameter("gain.value", 2.5).ok());
  ASSERT_TRUE(eventually([&] { return bench.pipeline->gain.load() == 2.5; }));
  stop();
}

TEST_F(ChannelTest, ASpinningWorkerWatchesItsLanesAndHearsCommands) {
  bench.spec.wait = Wait::spin;
  bench.spec.in_flight = 2;
  bench.source.frames = 1;
  bench.pipeline->hold.store(true);
  Channel& channel = bench.make();
  ASSERT_TRUE(eventually([&] { return bench.pipeline->asked.load() > 100'000; }));
  EXPECT_TRUE(channel.set_parameter("gain.value", 2.5).ok());
  ASSERT_TRUE(eventually([&] { return bench.pipeline->gain.load() == 2.5; }));
  bench.pipeline->hold.store(false);
  bench.pipeline->changed.notify();
  ASSERT_TRUE(processes(1));
  stop();
}

TEST_F(ChannelTest, ThePipelineHearsWhatTheChannelWishes) {
  for (const Wait wait : {Wait::blocking, Wait::spin}) {
    ChannelBench asking;
    asking.spec.wait = wait;
    asking.spec.deadline_ns = 16'000'000;
    asking.spec.on_overload = OnOverload::degrade_others;
    asking.spec.pinned_required = true;
    asking.spec.device_limits = {1 << 20, 12};
    asking.make();
    ASSERT_TRUE(eventually([&] { return asking.device.fake_compiler().compilations.load() == 1; }));
    const ServiceWishes wishes = asking.device.fake_compiler().wishes();
    EXPECT_EQ(wishes.spin, wait == Wait::spin);
    EXPECT_EQ(wishes.deadline_ns, 16'000'000);
    EXPECT_EQ(wishes.on_overload, OnOverload::degrade_others);
    EXPECT_TRUE(wishes.pinned_required);
    EXPECT_EQ(wishes.limits.max_bytes, 1U << 20);
    EXPECT_EQ(wishes.limits.max_buffers, 12U);
  }
}

TEST_F(ChannelTest, ABlockingWorkerNeverLooks) {
  std::atomic<uint64_t> looks{0};
  bench.source.on_look = [&] { ++looks; };
  bench.make();
  ASSERT_TRUE(processes(50));
  stop();
  EXPECT_EQ(looks, 0U);
}

TEST_F(ChannelTest, ParametersAreCheckedAndApplied) {
  Channel& channel = bench.make();
  ASSERT_TRUE(processes(1));
  EXPECT_EQ(channel.set_parameter("gain.value", 99).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(channel.set_parameter("gain.value", std::nan("")).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(channel.set_parameter("gamma.value", 1).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(channel.set_parameter("gain.value", 2.5).ok());
  ASSERT_TRUE(eventually([&] { return bench.pipeline->gain.load() == 2.5; }));
  EXPECT_EQ(channel.parameters().at(0).value, 2.5);
  bench.pipeline->gain.store(0);
  channel.restart();  // the pipeline is compiled again; what was set by hand stays
  ASSERT_TRUE(eventually([&] { return bench.pipeline->gain.load() == 2.5; }));
  stop();
}

TEST_F(ChannelTest, TheOldPipelineServesUntilTheNewOneIsThere) {
  const auto sink = std::make_shared<SinkScript>();
  bench.add_sink(sink);
  Channel& channel = bench.make();
  ASSERT_TRUE(processes(5));
  bench.device.fake_compiler().hold.store(true);
  channel.replace_pipeline({{{"half", {}}}});
  ASSERT_TRUE(eventually([&] { return bench.device.fake_compiler().compilations.load() == 2; }));
  const uint64_t before = bench.worker(&WorkerGroup::processed);
  ASSERT_TRUE(processes(before + 20));
  EXPECT_EQ(bench.worker(&WorkerGroup::pipeline_swaps), 0U);
  bench.device.fake_compiler().hold.store(false);
  bench.device.fake_compiler().changed.notify();
  ASSERT_TRUE(eventually([&] { return sink->last_width.load() == 32; }));
  EXPECT_EQ(bench.worker(&WorkerGroup::pipeline_swaps), 1U);
  EXPECT_EQ(bench.worker(&WorkerGroup::output_width), 32U);
  stop();
  EXPECT_EQ(sink->misused.load() + sink->torn.load() + sink->out_of_order.load(), 0U);
}

TEST_F(ChannelTest, AReplacementThatCannotBeCompiledChangesNothing) {
  Channel& channel = bench.make();
  ASSERT_TRUE(processes(5));
  channel.replace_pipeline({{{"broken", {}}}});
  ASSERT_TRUE(bench.listener.wait_for_code(ErrorCode::compile_failed));
  EXPECT_EQ(channel.state(), ChannelState::running);
  ASSERT_TRUE(processes(bench.worker(&WorkerGroup::processed) + 5));
  EXPECT_EQ(bench.worker(&WorkerGroup::pipeline_swaps), 0U);
  stop();
}

TEST_F(ChannelTest, AChannelGoesWhileItsPipelineIsBeingCompiled) {
  bench.device.fake_compiler().hold.store(true);
  bench.make();
  ASSERT_TRUE(eventually([&] { return bench.device.fake_compiler().compilations.load() == 1; }));
  bench.channel.reset();
  bench.device.fake_compiler().hold.store(false);
  bench.device.fake_compiler().changed.notify();
}

TEST_F(ChannelTest, WhatNobodyWantsHasNoOutput) {
  play_file(100);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.pipeline->without_output.load(), 100U);
}

TEST_F(ChannelTest, AMemorySinkTakesEveryFrameWithoutAThread) {
  play_file(100);
  bench.add_memory_sink();
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.pipeline->without_output.load(), 0U);
  EXPECT_EQ(bench.block->sinks[0].written.load(), 100U);
  EXPECT_EQ(bench.block->sinks[0].written_bytes.load(), 100U * 64 * 16);
}

TEST_F(ChannelTest, EveryNthFrameIsTheOnlyOneDownloaded) {
  play_file(100);
  const auto sink = std::make_shared<SinkScript>();
  bench.add_sink(sink, 4, SinkFull::wait, 10);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(sink->writes.load(), 10U);
  EXPECT_EQ(sink->last_sequence.load(), 90U);
  EXPECT_EQ(bench.pipeline->without_output.load(), 90U);
}

// Frames of every mode and number of lanes at full speed: exact at the end.
class ChannelModes : public ::testing::TestWithParam<std::tuple<HandlingMode, uint32_t, bool>> {};

TEST_P(ChannelModes, CountsAreExactAndResultsInOrder) {
  const auto [handling, lanes, notifies] = GetParam();
  ChannelBench bench;
  bench.spec.handling = handling;
  bench.spec.in_flight = lanes;
  bench.spec.slots = 8;
  bench.pipeline->notifies = notifies;
  bench.pipeline->compute_ns.store(50'000);
  bench.source.interval_ns = 20'000;
  bench.source.frames = 2000;
  const auto fast = std::make_shared<SinkScript>();
  const auto slow = std::make_shared<SinkScript>();
  slow->write_ns.store(200'000);
  bench.add_sink(fast);
  bench.add_sink(slow, 2, SinkFull::drop_oldest);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_TRUE(bench.adds_up());
  EXPECT_EQ(bench.offered->load(), 2000U);
  EXPECT_EQ(bench.pipeline->torn.load(), 0U);
  for (const auto& sink : {fast, slow}) {
    EXPECT_EQ(sink->out_of_order.load() + sink->torn.load(), 0U);
    EXPECT_GT(sink->writes.load(), 0U);
  }
  const uint64_t processed = bench.worker(&WorkerGroup::processed);
  for (int i : {0, 1}) {
    const stats::SinkGroup& cells = bench.block->sinks[i];
    EXPECT_EQ(cells.written + cells.failed + cells.dropped, processed) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ChannelModes,
                         ::testing::Combine(::testing::Values(HandlingMode::oldest_first,
                                                              HandlingMode::oldest_first_overwrite,
                                                              HandlingMode::newest_only),
                                            ::testing::Values(1U, 3U), ::testing::Bool()));

TEST(ChannelLanes, RunAtTheSameTime) {
  ChannelBench bench;
  bench.spec.in_flight = 3;
  bench.pipeline->hold.store(true);
  bench.make();
  ASSERT_TRUE(eventually([&] { return bench.pipeline->most_in_flight.load() == 3; }));
  bench.pipeline->hold.store(false);
  bench.pipeline->changed.notify();
}

}  // namespace
}  // namespace framelane
