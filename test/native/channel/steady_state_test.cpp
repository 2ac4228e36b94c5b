// In the steady state nothing on a frame's way allocates: pattern source, ring, worker, Halide, memory sink.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/channel.h"
#include "core/compile_service.h"
#include "fakes/allocation_counter.h"
#include "fakes/channel_bench.h"
#include "halide/cpu_device.h"
#include "io/make.h"

namespace framelane {
namespace {

using fakes::AllocationCounter;

struct Steady {
  const char* name;
  std::string pace;
  uint32_t threads;
  uint32_t in_flight;
};

ChannelSpec spec_of(const Steady& steady) {
  const io::Fields pattern{{"width", 64.0}, {"height", 48.0}, {"fps", 2000.0}, {"pace", steady.pace}};
  ChannelSpec spec;
  spec.name = "steady";
  spec.make_source = [pattern] { return io::make_source("pattern", pattern, io::staggered(1)); };
  spec.pipeline.operations = {{"gain", {{"value", 1.1}}}, {"local_contrast", {{"gain", 1.2}, {"levels", 3.0}}}};
  spec.sinks = {io::make_sink("memory", {}).take(), io::make_sink("none", {}).take()};
  spec.threads = steady.threads;
  spec.in_flight = steady.in_flight;
  spec.deadline_ns = 1;  // every frame misses it
  return spec;
}

class SteadyChannel : public ::testing::TestWithParam<Steady> {};

TEST_P(SteadyChannel, AllocatesNothingOverAThousandFrames) {
  const std::unique_ptr<Device> device = halide::make_cpu_device();
  const auto block = std::make_unique<stats::ChannelBlock>();
  CompileService compile(1);
  fakes::RecordingListener events;
  Channel channel(spec_of(GetParam()), *device, compile, *block, events);
  const auto processed = [&] { return block->worker.processed.load(); };
  const auto reaches = [&](uint64_t frames) { return fakes::eventually([&] { return processed() >= frames; }); };
  ASSERT_TRUE(reaches(50));

  // On a busy machine the compile thread, which is niced, may tidy up late: then the next thousand frames count.
  uint64_t new_allocations = 0, new_frees = 0;
  for (int attempt = 0; attempt < 5 && (attempt == 0 || new_allocations + new_frees > 0); ++attempt) {
    const uint64_t allocations = AllocationCounter::allocations.load();
    const uint64_t frees = AllocationCounter::frees.load();
    ASSERT_TRUE(reaches(processed() + 1000));
    new_allocations = AllocationCounter::allocations.load() - allocations;
    new_frees = AllocationCounter::frees.load() - frees;
  }
  EXPECT_EQ(new_allocations, 0U);
  EXPECT_EQ(new_frees, 0U);
  EXPECT_GE(block->worker.deadline_missed.load(), 1000U);
}

INSTANTIATE_TEST_SUITE_P(Paces, SteadyChannel,
                         ::testing::Values(Steady{"as_fast_as_it_can", "max", 1, 1}, Steady{"paced", "realtime", 1, 1},
                                           Steady{"two_threads_and_lanes", "max", 2, 2}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace framelane
