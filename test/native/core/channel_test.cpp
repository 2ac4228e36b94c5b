// A channel and its source: states, restarts, memory, formats.
#include "core/channel.h"

#include "native/core/channel_fixture.h"

namespace framelane {
namespace {

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
  EXPECT_NE(bench.worker(&WorkerGroup::state_since_ns), 0U)
      << "who reads the cells must see that it is this engine's word";
  channel.start();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  channel.start();  // plays it again, in the same cells
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::finished));
  EXPECT_EQ(bench.worker(&WorkerGroup::processed), 6U);
}

TEST_F(ChannelTest, WhatHadFinishedUnderAnEngineThatIsGoneStaysFinished) {
  play_file(3);
  bench.block->worker.state = static_cast<uint64_t>(ChannelState::finished);
  Channel& channel = bench.make();
  EXPECT_EQ(channel.state(), ChannelState::finished);
  EXPECT_NE(bench.worker(&WorkerGroup::state_since_ns), 0U);
  stop();
  EXPECT_EQ(bench.sources_made.load(), 0U);
  channel.start();  // plays it again: it was told to
  ASSERT_TRUE(processes(3));
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
  EXPECT_EQ(bench.worker(&WorkerGroup::error_code), 0U);    // it runs again
  stop();
}

TEST_F(ChannelTest, BackoffEndsAtStop) {
  bench.source.open_status = Error{ErrorCode::source_unavailable, "no camera"};
  bench.spec.retry = {3'600'000'000'000, 3'600'000'000'000};
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::backoff));
  stop();
}

TEST_F(ChannelTest, MoreMemoryThanAllowedIsFaultedWithSizeAndWish) {
  bench.spec.max_memory_bytes = 1000;
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::faulted));
  const Event event = bench.listener.events().back();
  EXPECT_EQ(event.code, ErrorCode::over_limit);
  EXPECT_NE(event.message.find("6 ring slots of mono8 64x16; its max_memory is 1000 B"), std::string::npos)
      << event.message;
}

TEST_F(ChannelTest, MoreMemoryThanThereIsIsWaitedFor) {
  bench.source.format = FrameFormat::packed(PixelFormat::rgb32f, 0xffffffff, 0xffffffff);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_state(ChannelState::backoff));
  const Event event = bench.listener.events().back();
  EXPECT_EQ(event.code, ErrorCode::out_of_memory);
  EXPECT_NE(event.message.find("are available"), std::string::npos) << event.message;
}

TEST_F(ChannelTest, ADeviceThatAdoptsNothingForNowIsWaitedFor) {
  bench.device.refuse_memory.store(true);
  bench.make();
  ASSERT_TRUE(bench.listener.wait_for_code(ErrorCode::out_of_memory));
  bench.device.refuse_memory.store(false);
  ASSERT_TRUE(processes(5));
  EXPECT_GT(bench.worker(&WorkerGroup::restarts_pipeline), 0U);
  stop();
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

}  // namespace
}  // namespace framelane
