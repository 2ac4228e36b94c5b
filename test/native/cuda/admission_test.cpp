// Whose copy goes next: without a driver.
#include "cuda/admission.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace framelane::cuda {
namespace {

using Outcome = Admission::Outcome;

// No machine is so busy that patience ends before a test does.
constexpr int64_t kLongNs = 600'000'000'000;

void await(const std::function<bool()>& holds) {
  const MonotonicNs deadline_ns = monotonic_now_ns() + 20'000'000'000;
  while (!holds() && monotonic_now_ns() < deadline_ns) std::this_thread::yield();
  ASSERT_TRUE(holds());
}

// Somebody who waits on a thread of his own, and writes down when he has entered.
class Waiter {
 public:
  Waiter(Admission& admission, uint64_t bytes, Urgency urgency, std::vector<int>& order, std::atomic<int>& entered,
         int name)
      : thread_([&admission, &order, &entered, this, bytes, urgency, name] {
          outcome_ = admission.enter(bytes, urgency, kNoDeadline, ticket_);
          order.push_back(name);
          entered.fetch_add(1);
        }) {}
  ~Waiter() { thread_.join(); }

 private:
  Admission::Ticket ticket_;
  Outcome outcome_ = Outcome::late;
  std::thread thread_;
};

TEST(Admission, LetsInAsManyBytesAsThereIsRoomFor) {
  Admission admission({.bytes = 100, .fewest_copies = 1, .patience_ns = kLongNs});
  EXPECT_TRUE(admission.try_enter(60));
  EXPECT_FALSE(admission.try_enter(41));
  EXPECT_TRUE(admission.try_enter(40));
  EXPECT_EQ(admission.bytes(), 100U);
  EXPECT_EQ(admission.copies(), 2U);
  admission.leave(60);
  EXPECT_TRUE(admission.try_enter(60));
  admission.leave(60);
  admission.leave(40);
  EXPECT_EQ(admission.bytes(), 0U);
  EXPECT_EQ(admission.copies(), 0U);
  EXPECT_EQ(admission.waits(), 0U);
}

TEST(Admission, AFewCopiesEnterHoweverLargeTheyAre) {
  Admission admission({.bytes = 100, .fewest_copies = 2, .patience_ns = kLongNs});
  const uint64_t large = uint64_t{300} << 20;
  EXPECT_TRUE(admission.try_enter(large));
  EXPECT_TRUE(admission.try_enter(large));
  EXPECT_FALSE(admission.try_enter(large));
  EXPECT_EQ(admission.bytes(), 2 * large);
}

TEST(Admission, TheEarliestDeadlineGoesNextAndWhoDegradesOthersBeforeAll) {
  Admission admission({.bytes = 1, .fewest_copies = 1, .patience_ns = kLongNs});
  ASSERT_TRUE(admission.try_enter(1));
  std::vector<int> order;
  std::atomic<int> entered{0};
  {
    std::vector<std::unique_ptr<Waiter>> waiters;
    const Urgency urgencies[] = {{false, 30}, {false, 10}, {true, 90}, {false, 20}, {true, 80}};
    for (int name = 0; name < 5; ++name) {
      waiters.push_back(std::make_unique<Waiter>(admission, 1, urgencies[name], order, entered, name));
      await([&] { return admission.waiting() == uint32_t(name) + 1; });
    }
    EXPECT_FALSE(admission.try_enter(1));
    for (int left = 1; left <= 5; ++left) {
      admission.leave(1);
      await([&] { return entered.load() == left; });
    }
  }
  EXPECT_EQ(order, (std::vector<int>{4, 2, 1, 3, 0}));
  EXPECT_EQ(admission.waits(), 5U);
  EXPECT_EQ(admission.overrun(), 0U);
  EXPECT_EQ(admission.copies(), 1U);
}

TEST(Admission, NobodyPassesThoseWhoWaitThoughThereWereRoomForHim) {
  Admission admission({.bytes = 100, .fewest_copies = 1, .patience_ns = kLongNs});
  ASSERT_TRUE(admission.try_enter(50));
  std::vector<int> order;
  std::atomic<int> entered{0};
  {
    Waiter large(admission, 60, {false, 5}, order, entered, 0);
    await([&] { return admission.waiting() == 1; });
    EXPECT_FALSE(admission.try_enter(10));
    // More urgent, and small enough: it goes at once.
    Waiter urgent(admission, 10, {false, 1}, order, entered, 1);
    await([&] { return entered.load() == 1; });
    EXPECT_EQ(admission.waiting(), 1U);
    admission.leave(50);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 0}));
}

TEST(Admission, WhoseTimeIsOverDoesNotEnter) {
  Admission admission({.bytes = 1, .fewest_copies = 1, .patience_ns = kLongNs});
  ASSERT_TRUE(admission.try_enter(1));
  Admission::Ticket ticket;
  const MonotonicNs give_up_ns = monotonic_now_ns() + 1'000'000;
  EXPECT_EQ(admission.enter(1, {false, give_up_ns}, give_up_ns, ticket), Outcome::late);
  EXPECT_GE(monotonic_now_ns(), give_up_ns);
  EXPECT_EQ(admission.copies(), 1U);
  EXPECT_EQ(admission.waiting(), 0U);
  EXPECT_EQ(admission.enter(1, {false, 0}, 0, ticket), Outcome::late);
  admission.leave(1);
  // With room there, its time does not matter.
  EXPECT_EQ(admission.enter(1, {false, 0}, 0, ticket), Outcome::entered);
}

TEST(Admission, WhoGivesUpMakesWayForASmallerOne) {
  Admission admission({.bytes = 100, .fewest_copies = 1, .patience_ns = kLongNs});
  ASSERT_TRUE(admission.try_enter(50));
  std::vector<int> order;
  std::atomic<int> entered{0};
  Admission::Ticket ticket;
  std::atomic<bool> gave_up{false};
  std::thread large([&] {
    EXPECT_EQ(admission.enter(60, {false, 1}, monotonic_now_ns() + 50'000'000, ticket), Outcome::late);
    gave_up.store(true);
  });
  await([&] { return admission.waiting() == 1 || gave_up.load(); });
  {
    Waiter small(admission, 10, {false, 2}, order, entered, 0);
  }
  large.join();
  EXPECT_EQ(admission.bytes(), 60U);
}

TEST(Admission, NothingHoldsTheBusForEver) {
  Admission admission({.bytes = 1, .fewest_copies = 1, .patience_ns = 1'000'000});
  ASSERT_TRUE(admission.try_enter(1));
  Admission::Ticket ticket;
  EXPECT_EQ(admission.enter(1, {false, 0}, kNoDeadline, ticket), Outcome::entered);
  EXPECT_EQ(admission.overrun(), 1U);
  EXPECT_EQ(admission.copies(), 2U);
  admission.leave(1);
  admission.leave(1);
  EXPECT_EQ(admission.bytes(), 0U);
}

// As many threads as there is a crowd at the bus: never more inside than fit, and each gets in.
TEST(Admission, HoldsItsBoundsInACrowd) {
  constexpr uint64_t kBytes = 10;
  Admission admission({.bytes = 4 * kBytes, .fewest_copies = 1, .patience_ns = kLongNs});
  std::atomic<int> inside{0}, most{0}, total{0}, late{0};
  std::array<std::thread, 8> crowd;
  for (size_t who = 0; who < crowd.size(); ++who) {
    crowd[who] = std::thread([&, who] {
      Admission::Ticket ticket;
      for (int round = 0; round < 300; ++round) {
        const bool hurries = who == 7;
        const MonotonicNs now = monotonic_now_ns();
        const MonotonicNs give_up_ns = hurries ? now + 20'000 : kNoDeadline;
        if (admission.enter(kBytes, {who == 0, now}, give_up_ns, ticket) == Outcome::late) {
          late.fetch_add(1);
          continue;
        }
        const int now_inside = inside.fetch_add(1) + 1;
        for (int seen = most.load(); seen < now_inside && !most.compare_exchange_weak(seen, now_inside);) {
        }
        std::this_thread::yield();
        inside.fetch_sub(1);
        total.fetch_add(1);
        admission.leave(kBytes);
      }
    });
  }
  for (std::thread& thread : crowd) thread.join();
  EXPECT_LE(most.load(), 4);
  EXPECT_EQ(total.load() + late.load(), 8 * 300);
  EXPECT_EQ(admission.bytes(), 0U);
  EXPECT_EQ(admission.copies(), 0U);
  EXPECT_EQ(admission.waiting(), 0U);
  EXPECT_EQ(admission.overrun(), 0U);
}

TEST(Urgency, IsTheDeadlineOrASecond) {
  ServiceWishes wishes;
  EXPECT_EQ(urgency_of(wishes, 5).due_ns, 1'000'000'005);
  EXPECT_FALSE(urgency_of(wishes, 5).goes_first);
  wishes.deadline_ns = 16;
  wishes.on_overload = OnOverload::degrade_others;
  EXPECT_EQ(urgency_of(wishes, 5).due_ns, 21);
  EXPECT_TRUE(urgency_of(wishes, 5).goes_first);
}

}  // namespace
}  // namespace framelane::cuda
