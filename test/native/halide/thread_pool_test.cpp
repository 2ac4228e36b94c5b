#include "halide/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace framelane::halide {
namespace {

// Counts how often each index was called.
struct Calls {
  std::array<std::atomic<int>, 1000> seen{};
  ThreadPool* pool = nullptr;
  int fails_at = -1;
  std::atomic<int> inside{0};

  static int count(void* context, int32_t index, uint8_t* closure) {
    Calls& self = *static_cast<Calls*>(context);
    self.inside.fetch_add(1);
    self.seen[size_t(index)].fetch_add(1);
    const int result = index == self.fails_at ? 42 : 0;
    EXPECT_EQ(closure, reinterpret_cast<uint8_t*>(context));
    self.inside.fetch_sub(1);
    return result;
  }
  static int nest(void* context, int32_t index, uint8_t*) {
    Calls& self = *static_cast<Calls*>(context);
    return self.pool->run(context, count, index * 10, 10, static_cast<uint8_t*>(context));
  }
};

class ThreadPoolTest : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override { calls_.pool = &pool_; }
  int run(ThreadPool::Task task, int32_t first, int32_t count) {
    return pool_.run(&calls_, task, first, count, reinterpret_cast<uint8_t*>(&calls_));
  }
  ThreadPool pool_{GetParam()};
  Calls calls_;
};

TEST_P(ThreadPoolTest, CallsEachIndexOnce) {
  for (int round = 1; round <= 200; ++round) {
    ASSERT_EQ(run(Calls::count, 3, 97), 0);
    ASSERT_EQ(calls_.inside.load(), 0);
    for (size_t i = 0; i < 110; ++i) ASSERT_EQ(calls_.seen[i].load(), i >= 3 && i < 100 ? round : 0) << i;
  }
}

TEST_P(ThreadPoolTest, ALoopWithinATaskRunsToItsEnd) {
  for (int round = 1; round <= 50; ++round) {
    ASSERT_EQ(run(Calls::nest, 0, 20), 0);
    for (size_t i = 0; i < 200; ++i) ASSERT_EQ(calls_.seen[i].load(), round) << i;
  }
}

TEST_P(ThreadPoolTest, AFailureIsTheLoopsAndTheNextLoopIsWhole) {
  calls_.fails_at = 5;
  EXPECT_EQ(run(Calls::count, 0, 50), 42);
  EXPECT_EQ(calls_.inside.load(), 0);
  EXPECT_EQ(run(Calls::nest, 0, 5), 42);
  calls_.fails_at = -1;
  for (auto& seen : calls_.seen) seen = 0;
  EXPECT_EQ(run(Calls::count, 0, 50), 0);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(calls_.seen[i].load(), 1);
}

TEST_P(ThreadPoolTest, AnEmptyLoopCallsNothing) {
  EXPECT_EQ(run(Calls::count, 0, 0), 0);
  EXPECT_EQ(calls_.seen[0].load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1U, 2U, 5U));

// Every thread of a pool has a number of its own; two tasks that wait for each other prove that two threads work.
TEST(ThreadPoolTogetherTest, ThreadsWorkSideBySideUnderTheirOwnNumbers) {
  ThreadPool pool(2);
  struct Meeting {
    std::atomic<int> arrived{0};
    std::array<std::atomic<uint32_t>, 2> participants{};
  } meeting;
  const auto meet = [](void* context, int32_t index, uint8_t*) -> int {
    Meeting& self = *static_cast<Meeting*>(context);
    self.participants[size_t(index)] = ThreadPool::participant();
    self.arrived.fetch_add(1);
    self.arrived.notify_all();
    for (int now = self.arrived.load(); now < 2; now = self.arrived.load()) self.arrived.wait(now);
    return 0;
  };
  ASSERT_EQ(pool.run(&meeting, meet, 0, 2, nullptr), 0);
  EXPECT_EQ(meeting.participants[0].load() + meeting.participants[1].load(), 1U);
  EXPECT_EQ(ThreadPool::participant(), 0U);
}

}  // namespace
}  // namespace framelane::halide
