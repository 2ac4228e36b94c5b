#include "core/channel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/histogram.h"
#include "fakes/channel_bench.h"

namespace framelane {
namespace {

using fakes::ChannelBench;
using fakes::eventually;
using fakes::PipelineScript;
using fakes::ScriptEnd;
using fakes::SinkScript;
using stats::SourceGroup;
using stats::WorkerGroup;

class ChannelTest : public ::testing::Test {
 protected:
  // A file that is played as fast as it goes.
  void play_file(uint64_t frames) {
    bench.source.traits.live = false;
    bench.source.wait_for_slot = true;
    bench.source.interval_ns = 0;
    bench.source.frames = frames;
  }
  bool processes(uint64_t frames) {
    return eventually([&] { return bench.worker(&WorkerGroup::processed) >= frames; });
  }
  void stop() {
    bench.channel->stop();
    bench.channel->join();
    EXPECT_EQ(bench.channel->state(), ChannelState::stopped);
    EXPECT_TRUE(bench.adds_up());
    EXPECT_EQ(bench.device.adopted(), 0U);
    EXPECT_EQ(bench.device.forgotten_unknown.load(), 0U);
    EXPECT_EQ(bench.pipeline->torn.load(), 0U);
  }

  ChannelBench bench;
};

TEST_F(ChannelTest, AFileIsPlayedWithoutLossAndFinishes) {
  play_file(500);
  const auto sink = std::make_shared<SinkScript>();
  bench.add_sink(sink, 4, SinkFull::wait);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.worker(&WorkerGroup::processed), 500U);
  EXPECT_EQ(sink->writes.load(), 500U);
  EXPECT_EQ(sink->closes.load(), 1U);
  EXPECT_EQ(sink->out_of_order.load() + sink->torn.load() + sink->misused.load(), 0U);
  EXPECT_EQ(sink->last_sequence.load(), 499U);
  EXPECT_EQ(bench.block->sinks[0].written.load(), 500U);
  EXPECT_EQ(bench.block->stages[static_cast<size_t>(stats::Stage::total)].count.load(), 500U);
  EXPECT_TRUE(bench.adds_up());
  stop();
}

TEST_F(ChannelTest, StatesComeInOrder) {
  play_file(1);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  std::vector<ChannelState> states;
  for (const Event& event : bench.listener.events()) states.push_back(event.state);
  const std::vector<ChannelState> expected{ChannelState::starting, ChannelState::compiling, ChannelState::starting,
                                           ChannelState::running, ChannelState::finished};
  EXPECT_EQ(states, expected);
}

TEST_F(ChannelTest, IdleUntilStarted) {
  play_file(3);
  bench.spec.start = false;
  Channel& channel = bench.make();
  EXPECT_EQ(channel.state(), ChannelState::idle);
  channel.start();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  channel.start();  // plays it again, in the same cells
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.worker(&WorkerGroup::processed), 6U);
}

TEST_F(ChannelTest, StopCountsWhatWaitedAndStartGoesOn) {
  bench.source.interval_ns = 100'000;
  bench.pipeline->compute_ns.store(1'000'000);
  Channel& channel = bench.make();
  ASSERT_TRUE(processes(5));
  stop();
  const uint64_t processed = bench.worker(&WorkerGroup::processed);
  channel.start();
  ASSERT_TRUE(processes(processed + 5));
  stop();
  EXPECT_GT(bench.counted(&SourceGroup::dropped_overwritten), 0U);
}

TEST_F(ChannelTest, StopBeforeStartIsStopped) {
  bench.spec.start = false;
  bench.make();
  stop();
}

TEST_F(ChannelTest, RestartIsCounted) {
  Channel& channel = bench.make();
  ASSERT_TRUE(processes(3));
  channel.restart();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::running));
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::starting));
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::running));
  EXPECT_EQ(bench.worker(&WorkerGroup::restarts_command), 1U);
  EXPECT_EQ(bench.sources_made.load(), 2U);
  stop();
}

TEST_F(ChannelTest, ASourceThatHangsInOpenCanBeStopped) {
  bench.source.hang_in_open = true;
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::starting));
  stop();
}

TEST_F(ChannelTest, ALostSourceIsOpenedAgain) {
  fakes::SourceScript dies;
  dies.frames = 5;
  dies.end = ScriptEnd::fail;
  fakes::SourceScript missing;
  missing.open_status = Error{ErrorCode::source_unavailable, "no camera"};
  bench.scripts = {dies, missing, missing, dies};
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_code(ErrorCode::source_lost));
  ASSERT_TRUE(bench.listener.wait_for_code(ErrorCode::source_unavailable));
  ASSERT_TRUE(bench.listener.wait_for_code(ErrorCode::source_lost));
  ASSERT_TRUE(processes(15));
  EXPECT_EQ(bench.worker(&WorkerGroup::restarts_source), 4U);
  EXPECT_EQ(bench.worker(&WorkerGroup::compilations), 1U);  // the rig waited for the source
  EXPECT_EQ(bench.worker(&WorkerGroup::error_code), static_cast<uint64_t>(ErrorCode::source_lost));
  stop();
}

TEST_F(ChannelTest, BackoffEndsAtStop) {
  bench.source.open_status = Error{ErrorCode::source_unavailable, "no camera"};
  bench.spec.retry = {3'600'000'000'000, 3'600'000'000'000};
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::backoff));
  stop();
}

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

TEST_F(ChannelTest, MoreMemoryThanAllowedIsFaultedWithSizeAndWish) {
  bench.spec.max_memory_bytes = 1000;
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::faulted));
  const Event event = bench.listener.events().back();
  EXPECT_EQ(event.code, ErrorCode::out_of_memory);
  EXPECT_NE(event.message.find("6 ring slots of mono8 64x16; its max_memory is 1000 B"), std::string::npos)
      << event.message;
}

TEST_F(ChannelTest, MoreMemoryThanThereIsIsFaulted) {
  bench.source.format = FrameFormat::packed(PixelFormat::rgb32f, 0xffffffff, 0xffffffff);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::faulted));
  const Event event = bench.listener.events().back();
  EXPECT_EQ(event.code, ErrorCode::out_of_memory);
  EXPECT_NE(event.message.find("are available"), std::string::npos) << event.message;
}

TEST_F(ChannelTest, ADeviceThatAdoptsNothingIsFaulted) {
  bench.device.refuse_memory.store(true);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::faulted));
  EXPECT_EQ(bench.listener.events().back().code, ErrorCode::out_of_memory);
}

TEST_F(ChannelTest, TooFewSlotsForTheLanesIsFaulted) {
  bench.spec.slots = 4;
  bench.spec.in_flight = 3;
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::faulted));
  EXPECT_EQ(bench.listener.events().back().code, ErrorCode::invalid_argument);
}

TEST_F(ChannelTest, AFormatChangeMakesANewRingAndReopensTheSinks) {
  play_file(50);
  bench.source.end = ScriptEnd::change_format;
  bench.source.next_format = FrameFormat::packed(PixelFormat::mono8, 128, 32);
  const auto sink = std::make_shared<SinkScript>();
  bench.add_sink(sink, 4, SinkFull::wait);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_code(ErrorCode::source_format_changed));
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.worker(&WorkerGroup::processed), 100U);
  EXPECT_EQ(bench.worker(&WorkerGroup::compilations), 2U);
  EXPECT_EQ(bench.worker(&WorkerGroup::input_width), 128U);
  EXPECT_EQ(sink->opens.load(), 2U);
  EXPECT_EQ(sink->closes.load(), 2U);
  EXPECT_EQ(sink->writes.load(), 100U);
  EXPECT_EQ(sink->last_width.load(), 128U);
  EXPECT_EQ(sink->torn.load() + sink->misused.load(), 0U);
  EXPECT_TRUE(bench.adds_up());
  stop();
}

TEST_F(ChannelTest, FramesOfVaryingHeightKeepTheirs) {
  play_file(10);
  bench.source.short_height_every = 3;  // the last one, id 9, is short
  const auto sink = std::make_shared<SinkScript>();
  bench.add_sink(sink, 4, SinkFull::wait);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(sink->last_height.load(), 1U);
  EXPECT_EQ(sink->torn.load(), 0U);
}

TEST_F(ChannelTest, MissingIdsAreLost) {
  play_file(20);
  bench.source.id_gaps = {{4, 3}, {9, 1}};
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.counted(&SourceGroup::lost_id_gap), 4U);
  EXPECT_EQ(bench.counted(&SourceGroup::received), 20U);
}

TEST_F(ChannelTest, ALiveSourceWithoutFramesIsStalledUntilItDelivers) {
  bench.spec.stall_ns = 20'000'000;
  std::atomic<bool> go{false};
  Signal changed;
  bench.source.before_frame = [&](uint64_t id) {
    if (id == 3) changed.wait_until(kNoDeadline, [&] { return go.load(); });
  };
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::stalled));
  go.store(true);
  changed.notify();
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

TEST_F(ChannelTest, TakesOverFromADeadEngine) {
  bench.block->source.received.store(10);
  bench.block->worker.processed.store(7);
  bench.block->worker.state.store(static_cast<uint64_t>(ChannelState::running));
  bench.offered->store(10);
  play_file(5);
  const auto sink = std::make_shared<SinkScript>();
  bench.add_sink(sink, 4, SinkFull::wait);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.worker(&WorkerGroup::dropped_restart), 3U);
  EXPECT_EQ(bench.worker(&WorkerGroup::restarts_engine), 1U);
  EXPECT_EQ(bench.worker(&WorkerGroup::processed), 12U);
  EXPECT_EQ(sink->last_sequence.load(), 11U);  // numbers go on
  EXPECT_TRUE(bench.adds_up());
}

TEST_F(ChannelTest, WhatTheSystemRefusesIsAnEventOnly) {
  bench.spec.thread_policy.cpus = {1'000'000};
  bench.spec.thread_policy.nice = 1;
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for([](const Event& event) {
    return event.code == ErrorCode::unsupported && event.message.find("1000000") != std::string::npos;
  }));
  ASSERT_TRUE(processes(2));
  stop();
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
