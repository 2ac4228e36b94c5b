#include "core/signal.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace framelane {
namespace {

TEST(Signal, ADeadlineEndsTheWait) {
  Signal signal;
  const MonotonicNs before = monotonic_now_ns();
  EXPECT_FALSE(signal.wait_until(before + 2'000'000, [] { return false; }));
  EXPECT_GE(monotonic_now_ns(), before + 2'000'000);
  EXPECT_FALSE(signal.wait_until(-1, [] { return false; }));
  EXPECT_TRUE(signal.wait_until(-1, [] { return true; }));
}

// Two threads hand a number back and forth; one lost wake-up and it hangs.
TEST(Signal, NoWakeUpIsLost) {
  Signal signal;
  std::atomic<int> turn{0};
  constexpr int kRounds = 20'000;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      signal.wait_until(kNoDeadline, [&] { return turn.load() == 2 * i + 1; });
      turn.store(2 * i + 2);
      signal.notify();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    turn.store(2 * i + 1);
    signal.notify();
    signal.wait_until(kNoDeadline, [&] { return turn.load() == 2 * i + 2; });
  }
  other.join();
  EXPECT_EQ(turn.load(), 2 * kRounds);
}

TEST(Signal, WakesAllWaiters) {
  Signal signal;
  std::atomic<bool> open{false};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] { signal.wait_until(kNoDeadline, [&] { return open.load(); }); });
  }
  open.store(true);
  signal.notify();
  for (std::thread& waiter : waiters) waiter.join();
}

}  // namespace
}  // namespace framelane
