#include "halide/cpu_device.h"

#include <gtest/gtest.h>

#include "native/halide/frames.h"

namespace framelane {
namespace {

using test::HeldFrame;
using test::operation;
using test::request_of;
using test::run_frame;

class CpuDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<Pipeline> compile(const PipelineRequest& request) {
    Result<std::unique_ptr<Pipeline>> made = device_->compiler().compile(request);
    EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message);
    return made ? made.take() : nullptr;
  }
  Error refusal(const PipelineRequest& request) {
    Result<std::unique_ptr<Pipeline>> made = device_->compiler().compile(request);
    EXPECT_FALSE(made.ok());
    return made ? Error{ErrorCode::ok, ""} : made.error();
  }

  std::unique_ptr<Device> device_ = halide::make_cpu_device();
};

TEST_F(CpuDeviceTest, SaysWhatItIs) {
  EXPECT_EQ(device_->info().id, "cpu");
  EXPECT_GE(device_->info().cores, 1U);
  EXPECT_GT(device_->info().memory_bytes, 0U);
}

TEST_F(CpuDeviceTest, EmptyPipelineCopies) {
  HeldFrame in(FrameFormat::packed(PixelFormat::rgb16, 7, 5));
  for (size_t i = 0; i < 7 * 5 * 3; ++i) in.samples<uint16_t>()[i] = uint16_t(i * 599);
  const auto pipeline = compile(request_of({}, in.format));
  Result<HeldFrame> out = run_frame(*pipeline, in);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.value().format, in.format);
  EXPECT_EQ(out.value().bytes, in.bytes);
}

TEST_F(CpuDeviceTest, GainRoundsHalfAwayFromZeroAndSaturates) {
  HeldFrame in(FrameFormat::packed(PixelFormat::mono8, 5, 1));
  const uint8_t values[] = {0, 1, 3, 100, 255};
  std::memcpy(in.bytes.data(), values, 5);
  const auto pipeline = compile(request_of({operation("gain", {{"value", 1.5}})}, in.format));
  Result<HeldFrame> out = run_frame(*pipeline, in);
  ASSERT_TRUE(out.ok());
  const uint8_t wanted[] = {0, 2, 5, 150, 255};
  EXPECT_EQ(std::memcmp(out.value().bytes.data(), wanted, 5), 0);
}

TEST_F(CpuDeviceTest, NothingIsRoundedBetweenOperations) {
  HeldFrame in(FrameFormat::packed(PixelFormat::mono8, 256, 1));
  for (int i = 0; i < 256; ++i) in.samples<uint8_t>()[i] = uint8_t(i);
  const auto pipeline =
      compile(request_of({operation("gain", {{"value", 4.0}}), operation("gain", {{"value", 0.25}})}, in.format));
  Result<HeldFrame> out = run_frame(*pipeline, in);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.value().bytes, in.bytes);
}

TEST_F(CpuDeviceTest, ParametersAreNamedByOperationAndChangeLive) {
  HeldFrame in(FrameFormat::packed(PixelFormat::mono8, 1, 1));
  in.samples<uint8_t>()[0] = 10;
  const auto pipeline =
      compile(request_of({operation("gain", {{"value", 2.0}}), operation("gain", {{"value", 3.0}})}, in.format));
  const std::vector<ParameterInfo> parameters = pipeline->parameters();
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(parameters[0].name, "gain.value");
  EXPECT_EQ(parameters[1].name, "gain#2.value");
  EXPECT_EQ(parameters[1].value, 3.0);
  ASSERT_TRUE(pipeline->set_parameter("gain#2.value", 5.0).ok());
  EXPECT_EQ(std::to_integer<int>(run_frame(*pipeline, in).value().bytes[0]), 100);
  EXPECT_EQ(pipeline->set_parameter("gain.value", -1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(pipeline->set_parameter("gain#3.value", 1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(std::to_integer<int>(run_frame(*pipeline, in).value().bytes[0]), 100);
}

TEST_F(CpuDeviceTest, RefusalsNameOperationValueAndLimit) {
  const FrameFormat format = FrameFormat::packed(PixelFormat::mono8, 640, 480);
  const auto message = [&](OperationSpec spec) {
    const Error error = refusal(request_of({operation("gain", {{"value", 1.0}}), std::move(spec)}, format));
    EXPECT_EQ(error.code, ErrorCode::pipeline_invalid);
    return error.message;
  };
  EXPECT_EQ(message(operation("crop", {{"x", 600.0}, {"y", 0.0}, {"width", 100.0}, {"height", 10.0}})),
            "pipeline[1] crop: x + width 600 + 100 is beyond the image's 640 columns");
  EXPECT_EQ(message(operation("resize", {{"width", 0.0}, {"height", 5.0}})),
            "pipeline[1] resize: `width` is 0 and must be from 1 to 1048576");
  EXPECT_EQ(message(operation("resize", {{"width", 100000.0}, {"height", 100000.0}})),
            "pipeline[1] resize: an output of 100000x100000 has 10000000000 samples; the limit is 536870911");
  EXPECT_EQ(message(operation("resize", {{"width", 8.0}, {"height", 5.0}, {"method", std::string("cubic")}})),
            "pipeline[1] resize: `method` is \"cubic\" and must be nearest, bilinear, bicubic or area");
  EXPECT_EQ(message(operation("gain", {})), "pipeline[1] gain: argument `value` is missing");
  EXPECT_EQ(message(operation("gain", {{"value", 1.0}, {"level", 1.0}})), "pipeline[1] gain: unknown argument `level`");
  EXPECT_EQ(message(operation("sharpen", {})), "pipeline[1] sharpen: there is no operation of this name");
}

}  // namespace
}  // namespace framelane
