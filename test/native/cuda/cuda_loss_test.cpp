// What becomes of frames when calls fail or the device is lost, on the fake driver.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fakes/await_inputs.h"
#include "native/cuda/cuda_rig.h"

namespace framelane::cuda {
namespace {

using test::CudaRig;
using test::kFormat;
using test::Lost;
using test::ShiftProgram;
using test::Slots;
using test::Told;

constexpr LaneIndex kLanes = 3;

// Three lanes' frames at once: each is right, or its error says why. Returns how many were right.
int run_all_lanes(Pipeline& pipeline, Slots& slots, unsigned char value) {
  std::array<FrameView, kLanes> in, out;
  std::array<bool, kLanes> submitted{};
  const FrameMeta meta;
  int right = 0;
  for (LaneIndex lane = 0; lane < kLanes; ++lane) {
    slots.fill(lane, static_cast<unsigned char>(value + lane));
    in[lane] = slots.view(lane);
    out[lane] = slots.view(kLanes + lane);
    const Status status = pipeline.submit(lane, {{&in[lane], 1}, {&out[lane], 1}, &meta});
    submitted[lane] = status.ok();
    if (!status) {
      EXPECT_EQ(status.error().code, ErrorCode::device_failed) << status.error().message;
    }
  }
  for (LaneIndex lane = 0; lane < kLanes; ++lane) {
    if (!submitted[lane]) continue;
    fakes::await_inputs(pipeline, lane);
    const Completion completion = pipeline.wait(lane);
    if (!completion.status) {
      EXPECT_EQ(completion.status.error().code, ErrorCode::device_failed);
      continue;
    }
    EXPECT_TRUE(slots.holds(kLanes + lane, static_cast<unsigned char>(value + lane + 1)));
    ++right;
  }
  return right;
}

// Each call of the frame path in turn, with lanes in flight, downloads that wait and a thread that tells of them. The
// next frames are as good as ever; the rig sees that nobody keeps a turn on the bus, memory or anything else.
TEST(CudaLoss, AFailingCallCostsAFrameAndNothingElse) {
  for (const char* const call :
       {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuGraphLaunch", "cuEventRecord", "cuEventSynchronize",
        "cuEventQuery", "cuStreamSynchronize", "cuStreamBeginCapture", "cuGraphInstantiate", "cuLaunchKernel"}) {
    for (const bool tells : {false, true}) {
      for (uint64_t kth = 1; kth <= 5; ++kth) {
        SCOPED_TRACE(std::string(call) + " " + std::to_string(kth) + (tells ? " told" : ""));
        CudaRig rig("", 0, CudaRig::BusWidth::narrow);
        Result<std::unique_ptr<Pipeline>> made = rig.open(kLanes);
        ASSERT_TRUE(made.ok()) << made.error().message;
        Slots slots(rig, kFormat, 2 * kLanes);
        Told listener;
        if (tells) {
          ASSERT_TRUE(made.value()->notify(&listener));
        }
        rig.fake.fail(call, kth, CUDA_ERROR_INVALID_VALUE, 1);
        for (int round = 0; round < 3; ++round) {
          ASSERT_TRUE(made.value()->set_parameter("shift.value", 1).ok());  // captures anew
          run_all_lanes(*made.value(), slots, static_cast<unsigned char>(10 * round));
        }
        rig.fake.fail(call, 1, CUDA_SUCCESS, 0);
        EXPECT_EQ(run_all_lanes(*made.value(), slots, 100), int(kLanes));
        EXPECT_FALSE(rig.watch->lost());
      }
    }
  }
}

TEST(CudaLoss, AKernelThatFaultsLosesTheDeviceForEverybodyOnce) {
  CudaRig rig;
  Lost listener;
  rig.watch->listen(listener);
  {
    Result<std::unique_ptr<Pipeline>> first = rig.open(), second = rig.open();
    ASSERT_TRUE(first.ok() && second.ok());
    Slots slots(rig, kFormat, 2);
    const FrameView in = slots.view(0), out = slots.view(1);
    const FrameMeta meta;
    const Job job{{&in, 1}, {&out, 1}, &meta};
    rig.fake.poison_kernel("shift", 1);
    // The fault may come before all of the frame is on the stream.
    Status ended = first.value()->submit(0, job);
    if (ended) {
      fakes::await_inputs(*first.value(), 0);
      ended = first.value()->wait(0).status;
    }
    EXPECT_EQ(ended.error().code, ErrorCode::device_lost);
    EXPECT_EQ(listener.times.load(), 1);
    EXPECT_EQ(listener.code.load(), ErrorCode::device_lost);
    // From then on nobody asks the driver any more.
    const uint64_t calls = rig.fake.calls(nullptr);
    EXPECT_EQ(second.value()->submit(0, job).error().code, ErrorCode::device_lost);
    EXPECT_EQ(first.value()->submit(0, job).error().code, ErrorCode::device_lost);
    EXPECT_EQ(rig.fake.calls(nullptr), calls);
    EXPECT_EQ(listener.times.load(), 1);
  }
  rig.abandon();
}

TEST(CudaLoss, ADeviceThatFallsOffTheBusIsToldOf) {
  CudaRig rig;
  Lost listener;
  rig.watch->listen(listener);
  {
    Result<std::unique_ptr<Pipeline>> made = rig.open();
    ASSERT_TRUE(made.ok());
    Slots slots(rig, kFormat, 2);
    const FrameView in = slots.view(0), out = slots.view(1);
    const FrameMeta meta;
    rig.fake.lose_device(0, CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(made.value()->submit(0, {{&in, 1}, {&out, 1}, &meta}).error().code, ErrorCode::device_lost);
    EXPECT_EQ(listener.times.load(), 1);
  }
  rig.abandon();
}

}  // namespace
}  // namespace framelane::cuda
