// Who waits for the device is woken, on the fake driver.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "native/cuda/cuda_rig.h"

namespace framelane::cuda {
namespace {

using test::CudaRig;
using test::kFormat;
using test::Slots;

// A thread's own stream, with work on it whenever the test wants. Thread-safety: one thread's.
class Work {
 public:
  static constexpr size_t kBytes = 1 << 20;
  explicit Work(CudaRig& rig) : driver_(rig.driver) {
    EXPECT_TRUE(rig.context->make_current().ok());
    stream_ = make_stream(driver_).take();
    event_ = make_event(driver_, false).take();
    EXPECT_EQ(driver_.cuMemAlloc(&memory_, kBytes), CUDA_SUCCESS);
  }
  ~Work() { driver_.cuMemFree(memory_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  [[nodiscard]] CUevent begin() {
    EXPECT_EQ(driver_.cuMemsetD8Async(memory_, 1, kBytes, stream_.get()), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuEventRecord(event_.get(), stream_.get()), CUDA_SUCCESS);
    return event_.get();
  }

 private:
  const Driver& driver_;
  Stream stream_;
  Event event_;
  CUdeviceptr memory_ = 0;
};

// Each ticket goes as soon as its wait is over.
TEST(Completions, EachOfManyIsToldOfItsOwnEvent) {
  CudaRig rig;
  const uint64_t before = rig.driver.cuEventSynchronize.calls();
  std::atomic<int> right{0};
  const auto wait_often = [&] {
    Work work(rig);
    for (int i = 0; i < 200; ++i) {
      Completions::Ticket ticket;
      const CUevent event = work.begin();
      if (rig.bus.completions.wait(rig.driver, event, ticket) == CUDA_SUCCESS &&
          rig.driver.cuEventQuery(event) == CUDA_SUCCESS)
        right.fetch_add(1);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) threads.emplace_back(wait_often);
  }
  EXPECT_EQ(right.load(), 6 * 200);
  EXPECT_EQ(rig.driver.cuEventSynchronize.calls(), before) << "nobody waits in the driver";
}

TEST(Completions, AKernelThatDoesNotEndHoldsUpNobodyElse) {
  CudaRig rig;
  Result<std::unique_ptr<Pipeline>> stuck = rig.open(), other = rig.open();
  ASSERT_TRUE(stuck.ok() && other.ok());
  Slots slots(rig, kFormat, 4);
  const FrameView in = slots.view(0), out = slots.view(1), other_in = slots.view(2), other_out = slots.view(3);
  rig.fake.hang("shift", 1);
  ASSERT_TRUE(stuck.value()->submit(0, {{&in, 1}, {&out, 1}, nullptr}).ok());
  ASSERT_TRUE(fakes::eventually([&] { return rig.fake.live("hanging") == 1; })) << "else it hits the neighbour";
  std::atomic<bool> over{false};
  std::jthread waits([&] {
    EXPECT_TRUE(rig.context->make_current().ok());
    EXPECT_TRUE(stuck.value()->wait(0).status.ok());
    over.store(true);
  });
  for (int frame = 0; frame < 20; ++frame) {
    ASSERT_TRUE(other.value()->submit(0, {{&other_in, 1}, {&other_out, 1}, nullptr}).ok());
    EXPECT_TRUE(other.value()->wait(0).status.ok());
  }
  EXPECT_FALSE(over.load());
  rig.fake.release_hangs();
}

TEST(Completions, WhatTheDriverSaysReachesWhoWaits) {
  CudaRig rig;
  Work work(rig);
  Completions::Ticket ticket;
  for (const uint64_t kth : {1U, 2U, 3U}) {
    rig.fake.fail("cuEventQuery", kth, CUDA_ERROR_INVALID_VALUE, 1);
    const CUevent event = work.begin();
    CUresult result = CUDA_SUCCESS;
    for (int waits = 0; waits < 100 && result == CUDA_SUCCESS; ++waits)
      result = rig.bus.completions.wait(rig.driver, event, ticket);
    EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE) << kth;
    EXPECT_EQ(rig.bus.completions.wait(rig.driver, work.begin(), ticket), CUDA_SUCCESS);
  }
}

TEST(Completions, NobodyIsAskedAboutWhileNobodyWaits) {
  CudaRig rig;
  Work work(rig);
  Completions::Ticket ticket;
  EXPECT_EQ(rig.bus.completions.wait(rig.driver, work.begin(), ticket), CUDA_SUCCESS);
  const uint64_t asked = rig.driver.cuEventQuery.calls();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(rig.driver.cuEventQuery.calls(), asked);
}

TEST(Completions, ClosedItLeavesTheWaitToTheDriver) {
  CudaRig rig;
  Work work(rig);
  Completions::Ticket ticket;
  const uint64_t before = rig.driver.cuEventSynchronize.calls();
  rig.bus.close();
  EXPECT_EQ(rig.bus.completions.wait(rig.driver, work.begin(), ticket), CUDA_SUCCESS);
  EXPECT_EQ(rig.driver.cuEventSynchronize.calls(), before + 1);
  EXPECT_TRUE(rig.bus.open(*rig.context).ok());
  EXPECT_EQ(rig.bus.completions.wait(rig.driver, work.begin(), ticket), CUDA_SUCCESS);
  EXPECT_EQ(rig.driver.cuEventSynchronize.calls(), before + 1);
}

}  // namespace
}  // namespace framelane::cuda
