// In the steady state nothing on a frame's way allocates.
#include <gtest/gtest.h>

#include <vector>

#include "fakes/allocation_counter.h"
#include "fakes/channel_bench.h"

namespace framelane {
namespace {

using fakes::AllocationCounter;

TEST(Allocation, IsCounted) {
  const uint64_t allocations = AllocationCounter::allocations.load();
  const uint64_t frees = AllocationCounter::frees.load();
  {
    std::vector<int> numbers(1000);
    numbers[999] = 1;
    EXPECT_EQ(numbers[999], 1);
  }
  EXPECT_GE(AllocationCounter::allocations.load(), allocations + 1);
  EXPECT_GE(AllocationCounter::frees.load(), frees + 1);
}

class AllocationInChannel : public ::testing::TestWithParam<uint32_t> {};

TEST_P(AllocationInChannel, IsNoneOverAThousandFrames) {
  fakes::ChannelBench bench;
  bench.spec.in_flight = GetParam();
  bench.spec.deadline_ns = 1;  // every frame misses it
  bench.source.interval_ns = 100'000;
  const auto kept = std::make_shared<fakes::SinkScript>();
  const auto slow = std::make_shared<fakes::SinkScript>();
  slow->write_ns.store(1'000'000);
  bench.add_sink(kept);
  bench.add_sink(slow, 2, SinkFull::drop_oldest);
  bench.add_memory_sink();
  bench.make();
  const auto processed = [&] { return bench.worker(&stats::WorkerGroup::processed); };
  Signal& completed = bench.pipeline->changed;
  ASSERT_TRUE(completed.wait_until(kNoDeadline, [&] { return processed() >= 50; }));

  const uint64_t from = processed();
  const uint64_t allocations = AllocationCounter::allocations.load();
  const uint64_t frees = AllocationCounter::frees.load();
  const bool ran =
      completed.wait_until(monotonic_now_ns() + 120'000'000'000, [&] { return processed() >= from + 1000; });
  const uint64_t new_allocations = AllocationCounter::allocations.load() - allocations;
  const uint64_t new_frees = AllocationCounter::frees.load() - frees;
  EXPECT_TRUE(ran);
  EXPECT_EQ(new_allocations, 0U);
  EXPECT_EQ(new_frees, 0U);
}

INSTANTIATE_TEST_SUITE_P(Lanes, AllocationInChannel, ::testing::Values(1U, 3U));

}  // namespace
}  // namespace framelane
