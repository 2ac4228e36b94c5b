// Who waits in front of the driver, and how long.
#include "cuda/call_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace framelane::cuda {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr CallGate::Limits kPatient{.held_up_after_ns = 5 * kMillisecond, .longest_wait_ns = 60'000 * kMillisecond};

int64_t pass_ns(const CallGate& gate) {
  const MonotonicNs begin = monotonic_now_ns();
  gate.pass();
  return monotonic_now_ns() - begin;
}

TEST(CallGate, IsOpenToEverybodyWhileNoCallIsUnderWay) {
  const CallGate gate{{.held_up_after_ns = 0, .longest_wait_ns = 60'000 * kMillisecond}};
  EXPECT_LT(pass_ns(gate), 1'000 * kMillisecond);
}

TEST(CallGate, AShortCallHoldsNobody) {
  CallGate gate{{.held_up_after_ns = 3'600'000 * kMillisecond, .longest_wait_ns = 60'000 * kMillisecond}};
  const CallGate::Place place = gate.begin();
  EXPECT_LT(pass_ns(gate), 1'000 * kMillisecond);
  gate.end(place);
}

TEST(CallGate, ACallThatIsHeldUpKeepsOthersOutUntilItHasReturned) {
  CallGate gate(kPatient);
  const CallGate::Place place = gate.begin(monotonic_now_ns() - 6 * kMillisecond);
  std::atomic<bool> passed{false}, ended{false};
  std::thread other([&] {
    gate.pass();
    EXPECT_TRUE(ended.load());
    passed.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(passed.load());
  ended.store(true);
  gate.end(place);
  other.join();
  EXPECT_TRUE(passed.load());
}

TEST(CallGate, NobodyWaitsForACallThatDoesNotReturn) {
  CallGate gate{{.held_up_after_ns = 0, .longest_wait_ns = 2 * kMillisecond}};
  const CallGate::Place place = gate.begin(monotonic_now_ns() - kMillisecond);
  EXPECT_GE(pass_ns(gate), 2 * kMillisecond);
  gate.end(place);
}

TEST(CallGate, HoldsNobodyWhenItIsKeptOpen) {
  CallGate gate(kPatient);
  gate.keep_open();
  EXPECT_EQ(gate.begin(monotonic_now_ns() - 6 * kMillisecond), CallGate::kNone);
  EXPECT_LT(pass_ns(gate), 1'000 * kMillisecond);
}

TEST(CallGate, OneOfSeveralThatIsHeldUpIsEnough) {
  CallGate gate(kPatient);
  const CallGate::Place early = gate.begin(monotonic_now_ns() - 6 * kMillisecond);
  const CallGate::Place late = gate.begin(monotonic_now_ns() + 3'600'000 * kMillisecond);
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gate.end(early);
  });
  EXPECT_GE(pass_ns(gate), 5 * kMillisecond);
  ends.join();
  gate.end(late);
}

TEST(CallGate, MoreCallsThanPlacesAreNotMindedAndFreeNobodysPlace) {
  CallGate gate(kPatient);
  std::vector<CallGate::Place> places;
  for (size_t i = 0; i <= CallGate::kNone; ++i) places.push_back(gate.begin(monotonic_now_ns() - 6 * kMillisecond));
  EXPECT_EQ(places.back(), CallGate::kNone);
  gate.end(places.back());
  for (size_t i = 1; i < CallGate::kNone; ++i) gate.end(places[i]);
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gate.end(places[0]);
  });
  EXPECT_GE(pass_ns(gate), 5 * kMillisecond);
  ends.join();
  EXPECT_LT(pass_ns(gate), 1'000 * kMillisecond);
}

}  // namespace
}  // namespace framelane::cuda
