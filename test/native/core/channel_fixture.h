// A channel made of fakes, and what its tests do again and again.
#pragma once

#include <gtest/gtest.h>

#include "fakes/channel_bench.h"

namespace framelane {

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

}  // namespace framelane
