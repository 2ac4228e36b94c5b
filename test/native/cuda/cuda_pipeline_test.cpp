// The frame path on the fake driver.
#include "cuda/cuda_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fakes/await_inputs.h"
#include "native/conformance/pipeline_conformance.h"
#include "native/cuda/cuda_rig.h"

namespace framelane::cuda {
namespace {

using test::CudaRig;
using test::kFormat;
using test::Lost;
using test::ShiftProgram;
using test::Slots;
using test::Told;

Completion run(Pipeline& pipeline, const FrameView& in, const FrameView& out, LaneIndex lane = 0) {
  const FrameMeta meta;
  if (Status status = pipeline.submit(lane, {{&in, 1}, {&out, 1}, &meta}); !status) return {status};
  fakes::await_inputs(pipeline, lane);
  return pipeline.wait(lane);
}

TEST(CudaPipeline, ReplaysFromTheFirstFrame) {
  CudaRig rig;
  Result<std::unique_ptr<Pipeline>> made = rig.open();
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  slots.fill(0, 10);
  const uint64_t launches = rig.driver.cuLaunchKernel.calls();
  const Completion completion = run(*made.value(), slots.view(0), slots.view(1));
  ASSERT_TRUE(completion.status.ok()) << completion.status.error().message;
  EXPECT_TRUE(slots.holds(1, 11));
  EXPECT_EQ(rig.driver.cuLaunchKernel.calls(), launches);
  EXPECT_EQ(made.value()->report().replay, Replay::captured);
  EXPECT_EQ(made.value()->report().staged_frames, 0U);
}

TEST(CudaPipeline, TheSteadyStateMakesNoCallThatOthersWouldFeel) {
  CudaRig rig;
  Result<std::unique_ptr<Pipeline>> made = rig.open(2);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 8);
  for (LaneIndex lane = 0; lane < 2; ++lane) ASSERT_TRUE(run(*made.value(), slots.view(0), slots.view(1), lane).status);
  rig.fake.steady(true);
  const auto felt = [&] {
    uint64_t calls = 0;
    for (const CallKind kind : {CallKind::alloc, CallKind::free, CallKind::device_sync, CallKind::module_load,
                                CallKind::link, CallKind::graph, CallKind::setup})
      calls += rig.driver.calls(kind);
    return calls;
  };
  const uint64_t before = felt();
  for (unsigned frame = 0; frame < 1000; ++frame) {
    slots.fill(frame % 4, static_cast<unsigned char>(frame));
    ASSERT_TRUE(run(*made.value(), slots.view(frame % 4), slots.view(4 + frame % 4), frame % 2).status);
    ASSERT_TRUE(slots.holds(4 + frame % 4, static_cast<unsigned char>(frame + 1)));
  }
  EXPECT_EQ(felt(), before);
  rig.fake.steady(false);
}

TEST(CudaPipeline, SpinsOrSleepsAsTheChannelWishes) {
  for (const bool spin : {false, true}) {
    CudaRig rig;
    Result<std::unique_ptr<Pipeline>> made = rig.open(1, {}, {.spin = spin});
    ASSERT_TRUE(made.ok()) << made.error().message;
    Slots slots(rig, kFormat, 2);
    slots.fill(0, 10);
    // In the driver, then, where it shows.
    rig.bus.completions.close();
    const uint64_t asked = rig.driver.cuEventQuery.calls(), slept = rig.driver.cuEventSynchronize.calls();
    ASSERT_TRUE(run(*made.value(), slots.view(0), slots.view(1)).status);
    EXPECT_TRUE(slots.holds(1, 11));
    EXPECT_EQ(rig.driver.cuEventQuery.calls() > asked, spin);
    EXPECT_EQ(rig.driver.cuEventSynchronize.calls() > slept, !spin);
  }
}

TEST(CudaPipeline, AParameterHoldsFromTheNextFrame) {
  CudaRig rig;
  Result<std::unique_ptr<Pipeline>> made = rig.open(2);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  slots.fill(0, 1);
  for (unsigned value = 2; value < 10; ++value) {
    ASSERT_TRUE(made.value()->set_parameter("shift.value", value).ok());
    for (LaneIndex lane = 0; lane < 2; ++lane) {
      ASSERT_TRUE(run(*made.value(), slots.view(0), slots.view(1), lane).status);
      EXPECT_TRUE(slots.holds(1, static_cast<unsigned char>(1 + value)));
    }
  }
  EXPECT_EQ(made.value()->report().replay, Replay::captured);
  EXPECT_EQ(made.value()->report().captures, 2U + 2U * 8U);
}

TEST(CudaPipeline, WhatCannotBeReplayedRunsDirectly) {
  CudaRig rig;
  ShiftProgram::Settings settings;
  settings.not_replayable = "a test";
  Result<std::unique_ptr<Pipeline>> made = rig.open(1, settings);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  slots.fill(0, 4);
  ASSERT_TRUE(run(*made.value(), slots.view(0), slots.view(1)).status);
  EXPECT_TRUE(slots.holds(1, 5));
  EXPECT_EQ(made.value()->report().replay, Replay::direct);
  EXPECT_EQ(made.value()->report().obstacle, ReplayObstacle::not_replayable);
}

TEST(CudaPipeline, NothingIsCapturedWhereReplayIsSwitchedOff) {
  CudaRig rig;
  rig.replay = false;
  Result<std::unique_ptr<Pipeline>> made = rig.open();
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  for (const double value : {1.0, 3.0}) {
    ASSERT_TRUE(made.value()->set_parameter("shift.value", value).ok());
    slots.fill(0, 4);
    ASSERT_TRUE(run(*made.value(), slots.view(0), slots.view(1)).status);
    EXPECT_TRUE(slots.holds(1, static_cast<unsigned char>(4 + value)));
  }
  EXPECT_EQ(made.value()->report().replay, Replay::direct);
  EXPECT_EQ(made.value()->report().obstacle, ReplayObstacle::switched_off);
  EXPECT_EQ(rig.fake.calls("cuStreamBeginCapture"), 0U);
}

TEST(CudaPipeline, AFrameThatIsSmallerRunsDirectlyAndTheReportSaysSo) {
  CudaRig rig;
  Result<std::unique_ptr<Pipeline>> made = rig.open();
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  const FrameFormat small = FrameFormat::packed(kFormat.pixel, kFormat.width, kFormat.height - 2);
  for (const FrameFormat& format : {kFormat, small, kFormat}) {
    slots.fill(0, 4);
    slots.fill(1, 0);
    const FrameView in{slots.slot(0), format, MemoryKind::host}, out{slots.slot(1), format, MemoryKind::host};
    ASSERT_TRUE(run(*made.value(), in, out).status);
    EXPECT_EQ(slots.slot(1)[format.bytes() - 1], std::byte{5});
    const bool whole = format.height == kFormat.height;
    EXPECT_EQ(made.value()->report().replay, whole ? Replay::captured : Replay::direct);
    EXPECT_EQ(made.value()->report().obstacle, whole ? ReplayObstacle::none : ReplayObstacle::varying_extents);
  }
  EXPECT_EQ(made.value()->report().captures, 1U);
}

TEST(CudaPipeline, ACaptureIsTriedTwiceBeforeFramesRunDirectly) {
  for (const uint64_t failures : {1U, 2U}) {
    CudaRig rig;
    rig.fake.fail("cuStreamBeginCapture", 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, failures);
    Result<std::unique_ptr<Pipeline>> made = rig.open();
    ASSERT_TRUE(made.ok()) << made.error().message;
    Slots slots(rig, kFormat, 2);
    slots.fill(0, 4);
    ASSERT_TRUE(run(*made.value(), slots.view(0), slots.view(1)).status);
    EXPECT_TRUE(slots.holds(1, 5));
    EXPECT_EQ(made.value()->report().replay, failures == 1 ? Replay::captured : Replay::direct);
    EXPECT_EQ(made.value()->report().obstacle, failures == 1 ? ReplayObstacle::none : ReplayObstacle::capture_failed);
  }
}

TEST(CudaPipeline, OnlyWhatIsReadIsUploadedAndOnlyWhatIsWantedDownloaded) {
  CudaRig rig;
  ShiftProgram::Settings settings;
  settings.reads = {5, 2, 7, 3};
  Result<std::unique_ptr<Pipeline>> made = rig.open(1, settings);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  const uint64_t copies = rig.fake.copies();
  FrameView unwanted = slots.view(1);
  unwanted.data = nullptr;
  ASSERT_TRUE(run(*made.value(), slots.view(0), unwanted).status);
  ASSERT_EQ(rig.fake.copies(), copies + 1);
  fake_cuda::FakeCopy copy;
  ASSERT_TRUE(rig.fake.copy(copies, &copy));
  EXPECT_EQ(copy.bytes, 7U * 3U);
  EXPECT_EQ(copy.direction, fake_cuda::FakeCopy::host_to_device);
}

TEST(CudaPipeline, SlotsThatAreNotPinnedAreStagedOrRefused) {
  for (const bool required : {false, true}) {
    CudaRig rig;
    ServiceWishes wishes;
    wishes.pinned_required = required;
    Result<std::unique_ptr<Pipeline>> made = rig.open(1, {}, wishes);
    ASSERT_TRUE(made.ok()) << made.error().message;
    std::vector<std::byte> in(kFormat.bytes(), std::byte{7}), out(kFormat.bytes());
    const Completion completion =
        run(*made.value(), {in.data(), kFormat, MemoryKind::host}, {out.data(), kFormat, MemoryKind::host});
    EXPECT_EQ(completion.status.ok(), !required);
    if (required) continue;
    EXPECT_EQ(out, std::vector<std::byte>(kFormat.bytes(), std::byte{8}));
    EXPECT_EQ(made.value()->report().staged_frames, 1U);
  }
}

TEST(CudaPipeline, AFrameThatFailsLeavesTheLaneFree) {
  for (const char* const call : {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuEventRecord", "cuGraphLaunch"}) {
    SCOPED_TRACE(call);
    CudaRig rig;
    Result<std::unique_ptr<Pipeline>> made = rig.open();
    ASSERT_TRUE(made.ok()) << made.error().message;
    Slots slots(rig, kFormat, 2);
    rig.fake.fail(call, 1, CUDA_ERROR_INVALID_VALUE, 1);
    const Completion failed = run(*made.value(), slots.view(0), slots.view(1));
    ASSERT_FALSE(failed.status.ok());
    EXPECT_EQ(failed.status.error().code, ErrorCode::device_failed);
    slots.fill(0, 20);
    ASSERT_TRUE(run(*made.value(), slots.view(0), slots.view(1)).status);
    EXPECT_TRUE(slots.holds(1, 21));
    EXPECT_FALSE(rig.watch->lost());
  }
}

// Each call of the driver while a pipeline is made and used: it works all the same, or says why, and nothing is left.
TEST(CudaPipeline, EveryCallMayFail) {
  std::vector<Driver::Count> counts(Driver::kFunctions);
  for (size_t function = 0; function < Driver::kFunctions; ++function) {
    for (uint64_t k = 1; k <= 3; ++k) {
      CudaRig rig;
      rig.driver.counts(counts);
      SCOPED_TRACE(std::string(counts[function].name) + " " + std::to_string(k));
      const std::string name(counts[function].name);
      Slots slots(rig, kFormat, 2);
      rig.fake.fail(name.c_str(), k, CUDA_ERROR_INVALID_VALUE, 1);
      Result<std::unique_ptr<Pipeline>> made = rig.open(2);
      if (made) {
        for (int frame = 0; frame < 3; ++frame) {
          slots.fill(0, 30);
          if (run(*made.value(), slots.view(0), slots.view(1)).status) {
            EXPECT_TRUE(slots.holds(1, 31));
          }
        }
      } else {
        EXPECT_FALSE(made.error().message.empty());
      }
      rig.fake.fail(name.c_str(), 1, CUDA_SUCCESS, 0);
    }
  }
}

TEST(CudaPipeline, TellsWhenALaneIsDone) {
  CudaRig rig;
  Result<std::unique_ptr<Pipeline>> made = rig.open(3);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  Told listener;
  ASSERT_TRUE(made.value()->notify(&listener));
  const FrameView in = slots.view(0), out = slots.view(1);
  const FrameMeta meta;
  for (int frame = 0; frame < 30; ++frame) {
    const int before = listener.told.load();
    const LaneIndex lane = LaneIndex(frame % 3);
    ASSERT_TRUE(made.value()->submit(lane, {{&in, 1}, {&out, 1}, &meta}));
    made.value()->tell(lane);
    const MonotonicNs until = monotonic_now_ns() + 10'000'000'000;
    while (listener.told.load() == before && monotonic_now_ns() < until) std::this_thread::yield();
    EXPECT_EQ(listener.told.load(), before + 1);
    EXPECT_TRUE(made.value()->done(lane));
    ASSERT_TRUE(made.value()->wait(lane).status);
  }
  EXPECT_TRUE(made.value()->notify(nullptr));
}

TEST(CudaPipeline, AKernelThatNeverEndsIsNoticed) {
  CudaRig rig("", 50'000'000);
  Lost listener;
  rig.watch->listen(listener);
  Result<std::unique_ptr<Pipeline>> made = rig.open();
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  rig.fake.hang("shift", 1);
  const FrameView in = slots.view(0), out = slots.view(1);
  const FrameMeta meta;
  ASSERT_TRUE(made.value()->submit(0, {{&in, 1}, {&out, 1}, &meta}).ok());
  const MonotonicNs until = monotonic_now_ns() + 10'000'000'000;
  while (listener.times.load() == 0 && monotonic_now_ns() < until) std::this_thread::yield();
  EXPECT_EQ(listener.code.load(), ErrorCode::device_lost);
  EXPECT_EQ(made.value()->submit(0, {{&in, 1}, {&out, 1}, &meta}).error().code, ErrorCode::device_lost);
  rig.fake.release_hangs();
  EXPECT_TRUE(made.value()->wait(0).status.ok());
  rig.driver.cuStreamSynchronize(nullptr);
}

}  // namespace
}  // namespace framelane::cuda

namespace framelane::conformance {
namespace {

// The pipeline with the device that it lives on. Thread-safety: as Pipeline says.
class WithRig final : public Pipeline {
 public:
  explicit WithRig(const PipelineRequest& request) {
    cuda::test::ShiftProgram::Settings settings;
    settings.format = request.inputs[0];
    pipeline_ = rig_.open(request.lanes, settings).take();
  }
  std::span<const FrameFormat> outputs() const noexcept override { return pipeline_->outputs(); }
  uint32_t lanes() const noexcept override { return pipeline_->lanes(); }
  FrameFormat output_for(size_t i, std::span<const FrameFormat> in) const noexcept override {
    return pipeline_->output_for(i, in);
  }
  Status submit(LaneIndex lane, const Job& job) noexcept override { return pipeline_->submit(lane, job); }
  bool inputs_read(LaneIndex lane) noexcept override { return pipeline_->inputs_read(lane); }
  bool done(LaneIndex lane) noexcept override { return pipeline_->done(lane); }
  Completion wait(LaneIndex lane) noexcept override { return pipeline_->wait(lane); }
  std::vector<ParameterInfo> parameters() const override { return pipeline_->parameters(); }
  Status set_parameter(const std::string& n, double v) noexcept override { return pipeline_->set_parameter(n, v); }
  void reset_state() noexcept override { pipeline_->reset_state(); }

 private:
  cuda::test::CudaRig rig_;
  std::unique_ptr<Pipeline> pipeline_;
};

INSTANTIATE_TEST_SUITE_P(Cuda, PipelineConformance,
                         ::testing::Values(PipelineCase{
                             "cuda",
                             [](const PipelineRequest& request) -> Result<std::unique_ptr<Pipeline>> {
                               return std::unique_ptr<Pipeline>(std::make_unique<WithRig>(request));
                             },
                             {},
                             FrameFormat::packed(PixelFormat::mono8, 33, 9)}));

}  // namespace
}  // namespace framelane::conformance
