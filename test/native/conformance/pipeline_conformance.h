// What every Pipeline keeps, on any device whose slots are host memory. A layer's tests include this in one file
// only and instantiate it there.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/pipeline.h"
#include "fakes/await_inputs.h"

namespace framelane::conformance {

struct PipelineCase {
  std::string name;
  std::function<Result<std::unique_ptr<Pipeline>>(const PipelineRequest&)> compile;
  PipelineSpec spec;
  FrameFormat input;
};

inline std::ostream& operator<<(std::ostream& out, const PipelineCase& pipeline) {
  return out << pipeline.name;
}

class PipelineConformance : public ::testing::TestWithParam<PipelineCase> {
 protected:
  static constexpr uint32_t kLanes = 3;

  void SetUp() override {
    PipelineRequest request;
    request.channel = "conformance";
    request.spec = GetParam().spec;
    request.inputs = {GetParam().input};
    request.lanes = kLanes;
    request.threads = 2;
    Result<std::unique_ptr<Pipeline>> made = GetParam().compile(request);
    ASSERT_TRUE(made.ok()) << made.error().message;
    pipeline_ = made.take();
    frames_.resize(pipeline_->lanes());
  }

  // One frame in memory of its own.
  struct Frame {
    std::vector<std::byte> input;
    std::vector<std::vector<std::byte>> outputs;
    FrameView input_view;
    std::vector<FrameView> output_views;
    FrameMeta meta;
  };

  void make_frame(Frame& frame, uint32_t seed, const FrameFormat& format, bool wanted = true) const {
    frame.input.resize(GetParam().input.bytes());
    fill(frame.input, seed, info(format.pixel).type);
    frame.input_view = {frame.input.data(), format, MemoryKind::host};
    const auto outputs = pipeline_->outputs();
    frame.outputs.resize(outputs.size());
    frame.output_views.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      frame.outputs[i].assign(outputs[i].bytes(), std::byte{0xee});
      frame.output_views[i].format = pipeline_->output_for(i, {&format, 1});
      frame.output_views[i].data = wanted ? frame.outputs[i].data() : nullptr;
    }
    frame.meta.width = format.width;
    frame.meta.height = format.height;
    frame.meta.size_bytes = format.bytes();
  }
  Status submit(LaneIndex lane, Frame& frame) {
    return pipeline_->submit(lane, Job{{&frame.input_view, 1}, frame.output_views, &frame.meta});
  }
  void run(LaneIndex lane, Frame& frame) {
    const Status submitted = submit(lane, frame);
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    finish(lane);
  }
  void finish(LaneIndex lane) {
    fakes::await_inputs(*pipeline_, lane);
    const Completion completion = pipeline_->wait(lane);
    ASSERT_TRUE(completion.status.ok()) << completion.status.error().message;
    EXPECT_GE(completion.upload_ns, -1);
    EXPECT_GE(completion.compute_ns, -1);
    EXPECT_GE(completion.download_ns, -1);
  }

  std::unique_ptr<Pipeline> pipeline_;
  std::vector<Frame> frames_;

 private:
  static void fill(std::vector<std::byte>& bytes, uint32_t seed, SampleType type) {
    uint32_t state = seed * 2'654'435'761U + 1;
    const auto next = [&] { return state = state * 1'664'525U + 1'013'904'223U; };
    if (type == SampleType::float32) {
      for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        *reinterpret_cast<float*>(&bytes[i]) = static_cast<float>(next() >> 8) / 16'777'216.0F;
      }
    } else {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(next() >> 24);
    }
  }
};

TEST_P(PipelineConformance, DescribesItself) {
  ASSERT_FALSE(pipeline_->outputs().empty());
  EXPECT_GE(pipeline_->lanes(), 1U);
  EXPECT_LE(pipeline_->lanes(), kLanes);
  for (size_t i = 0; i < pipeline_->outputs().size(); ++i) {
    EXPECT_EQ(pipeline_->output_for(i, {&GetParam().input, 1}), pipeline_->outputs()[i]);
  }
}

TEST_P(PipelineConformance, EveryLaneGivesTheSameForTheSame) {
  for (LaneIndex lane = 0; lane < pipeline_->lanes(); ++lane) {
    make_frame(frames_[lane], 7, GetParam().input);
    ASSERT_NO_FATAL_FAILURE(run(lane, frames_[lane]));
    EXPECT_EQ(frames_[lane].outputs, frames_[0].outputs) << "lane " << lane;
  }
}

TEST_P(PipelineConformance, LanesInFlightTogetherDoNotDisturbEachOther) {
  std::vector<Frame> alone(pipeline_->lanes());
  for (LaneIndex lane = 0; lane < pipeline_->lanes(); ++lane) {
    make_frame(alone[lane], lane, GetParam().input);
    ASSERT_NO_FATAL_FAILURE(run(0, alone[lane]));
    make_frame(frames_[lane], lane, GetParam().input);
  }
  for (int round = 0; round < 20; ++round) {
    for (LaneIndex lane = 0; lane < pipeline_->lanes(); ++lane) ASSERT_TRUE(submit(lane, frames_[lane]).ok());
    for (LaneIndex lane = 0; lane < pipeline_->lanes(); ++lane) ASSERT_NO_FATAL_FAILURE(finish(lane));
    for (LaneIndex lane = 0; lane < pipeline_->lanes(); ++lane) EXPECT_EQ(frames_[lane].outputs, alone[lane].outputs);
  }
}

TEST_P(PipelineConformance, TheInputMayBeRefilledAfterWaitInputs) {
  Frame reference;
  make_frame(reference, 3, GetParam().input);
  ASSERT_NO_FATAL_FAILURE(run(0, reference));
  make_frame(frames_[0], 3, GetParam().input);
  ASSERT_TRUE(submit(0, frames_[0]).ok());
  fakes::await_inputs(*pipeline_, 0);
  std::fill(frames_[0].input.begin(), frames_[0].input.end(), std::byte{0});
  ASSERT_TRUE(pipeline_->wait(0).status.ok());
  EXPECT_EQ(frames_[0].outputs, reference.outputs);
}

TEST_P(PipelineConformance, AnOutputThatNobodyWantsIsNotWritten) {
  make_frame(frames_[0], 1, GetParam().input, false);
  ASSERT_NO_FATAL_FAILURE(run(0, frames_[0]));
  make_frame(frames_[0], 1, GetParam().input);
  ASSERT_NO_FATAL_FAILURE(run(0, frames_[0]));
}

TEST_P(PipelineConformance, DoneBecomesTrueWithoutWait) {
  make_frame(frames_[0], 1, GetParam().input);
  ASSERT_TRUE(submit(0, frames_[0]).ok());
  const MonotonicNs until = monotonic_now_ns() + 60'000'000'000;
  while (!pipeline_->done(0)) ASSERT_LT(monotonic_now_ns(), until);
  ASSERT_NO_FATAL_FAILURE(finish(0));
}

TEST_P(PipelineConformance, TakesShorterFrames) {
  FrameFormat shorter = GetParam().input;
  for (const uint32_t height : {(shorter.height + 1) / 2, 1U}) {
    shorter.height = height;
    make_frame(frames_[0], 1, shorter);
    const FrameFormat output = frames_[0].output_views[0].format;
    EXPECT_GE(output.height, 1U);
    EXPECT_LE(output.height, pipeline_->outputs()[0].height);
    EXPECT_EQ(output.pixel, pipeline_->outputs()[0].pixel);
    ASSERT_NO_FATAL_FAILURE(run(0, frames_[0]));
  }
}

TEST_P(PipelineConformance, ParametersHaveBounds) {
  EXPECT_EQ(pipeline_->set_parameter("no such parameter", 1).error().code, ErrorCode::invalid_argument);
  for (const ParameterInfo& parameter : pipeline_->parameters()) {
    EXPECT_GE(parameter.value, parameter.minimum) << parameter.name;
    EXPECT_LE(parameter.value, parameter.maximum) << parameter.name;
    EXPECT_TRUE(pipeline_->set_parameter(parameter.name, parameter.value).ok()) << parameter.name;
    for (const double wrong : {parameter.maximum * 2 + 1, std::nan("")}) {
      const Status refused = pipeline_->set_parameter(parameter.name, wrong);
      ASSERT_FALSE(refused.ok()) << parameter.name << " = " << wrong;
      EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    }
  }
}

TEST_P(PipelineConformance, ResetStateLeavesItUsable) {
  pipeline_->reset_state();
  make_frame(frames_[0], 1, GetParam().input);
  ASSERT_NO_FATAL_FAILURE(run(0, frames_[0]));
}

}  // namespace framelane::conformance
