#include "halide/cpu_compiler.h"

#include <gtest/gtest.h>

#include <thread>

#include "native/halide/frames.h"

namespace framelane::halide {
namespace {

using test::HeldFrame;
using test::operation;
using test::request_of;

test::Operations gain(double value) {
  return {operation("gain", {{"value", value}})};
}

TEST(CpuCompilerTest, LiveValuesAndSizesShareCode) {
  CpuCompiler compiler;
  HeldFrame small(FrameFormat::packed(PixelFormat::mono8, 4, 4)), large(FrameFormat::packed(PixelFormat::mono8, 40, 9));
  std::fill(small.bytes.begin(), small.bytes.end(), std::byte{10});
  std::fill(large.bytes.begin(), large.bytes.end(), std::byte{10});
  auto doubled = compiler.compile(request_of(gain(2), small.format));
  auto tripled = compiler.compile(request_of(gain(3), large.format, 2));
  EXPECT_EQ(compiler.compilations(), 1U);
  EXPECT_EQ(std::to_integer<int>(test::run_frame(*doubled.value(), small).value().bytes[15]), 20);
  EXPECT_EQ(std::to_integer<int>(test::run_frame(*tripled.value(), large).value().bytes[359]), 30);
  ASSERT_TRUE(doubled.value()->set_parameter("gain.value", 5).ok());
  EXPECT_EQ(std::to_integer<int>(test::run_frame(*tripled.value(), large).value().bytes[0]), 30);
  ASSERT_TRUE(compiler.compile(request_of(gain(2), FrameFormat::packed(PixelFormat::mono16, 4, 4))).ok());
  EXPECT_EQ(compiler.compilations(), 2U);
}

TEST(CpuCompilerTest, RequestsAtTheSameTimeWaitForOneCompile) {
  CpuCompiler compiler;
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      const auto format = FrameFormat::packed(PixelFormat::mono8, uint32_t(8 + i), 8);
      if (compiler.compile(request_of({operation("unsharp", {{"amount", 0.1 * i}})}, format)).ok()) ++made;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made.load(), 6);
  EXPECT_EQ(compiler.compilations(), 1U);
}

TEST(CpuCompilerTest, CompilesAtTheSameTimeDoNotDisturbEachOther) {
  CpuCompiler compiler;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  const PixelFormat pixels[] = {PixelFormat::mono8, PixelFormat::mono16, PixelFormat::mono32f, PixelFormat::rgb8};
  for (const PixelFormat pixel : pixels) {
    threads.emplace_back([&, pixel] {
      HeldFrame frame(FrameFormat::packed(pixel, 33, 7));
      auto made = compiler.compile(request_of(gain(1), frame.format));
      if (made.ok() && test::run_frame(*made.value(), frame).value().bytes == frame.bytes) ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 4);
  EXPECT_EQ(compiler.compilations(), 4U);
}

TEST(CpuCompilerTest, KeepsABoundedNumberOfUnusedPipelines) {
  CpuCompiler compiler({.scheduled = true, .most_pipelines = 3});
  const auto format = FrameFormat::packed(PixelFormat::mono8, 4, 4);
  const auto chain = [&](size_t length) { return request_of(test::Operations(length, gain(1)[0]), format); };
  const auto used = compiler.compile(chain(1)).take();
  for (size_t length = 2; length <= 5; ++length) ASSERT_TRUE(compiler.compile(chain(length)).ok());
  EXPECT_EQ(compiler.compilations(), 5U);
  ASSERT_TRUE(compiler.compile(chain(1)).ok());
  ASSERT_TRUE(compiler.compile(chain(5)).ok());
  EXPECT_EQ(compiler.compilations(), 5U);
  ASSERT_TRUE(compiler.compile(chain(2)).ok());
  EXPECT_EQ(compiler.compilations(), 6U);
}

// Strips on several threads give what one loop gives, and so does the plain form without a schedule.
TEST(CpuCompilerTest, ThreadsAndScheduleChangeNoValue) {
  CpuCompiler tuned, plain({.scheduled = false});
  const test::Operations operations{operation("local_contrast", {{"gain", 1.2}, {"levels", 2.0}}),
                                    operation("unsharp", {{"amount", 0.5}})};
  for (const PixelFormat pixel : {PixelFormat::mono32f, PixelFormat::rgb32f_planar, PixelFormat::rgb32f}) {
    HeldFrame frame(FrameFormat::packed(pixel, 45, 31));
    for (size_t i = 0; i < frame.bytes.size() / 4; ++i) frame.samples<float>()[i] = float(i * 7919 % 1000) / 1000;
    const auto one = tuned.compile(request_of(operations, frame.format)).take();
    const auto four = tuned.compile(request_of(operations, frame.format, 4)).take();
    HeldFrame wanted = test::run_frame(*one, frame).take(), strips = test::run_frame(*four, frame).take();
    EXPECT_EQ(wanted.bytes, strips.bytes);
    const auto inlined = plain.compile(request_of({operations[1]}, frame.format)).take();
    const auto scheduled = tuned.compile(request_of({operations[1]}, frame.format)).take();
    HeldFrame a = test::run_frame(*inlined, frame).take(), b = test::run_frame(*scheduled, frame).take();
    for (size_t i = 0; i < frame.bytes.size() / 4; ++i)
      ASSERT_NEAR(a.samples<float>()[i], b.samples<float>()[i], 1e-6) << i;
  }
}

TEST(CpuCompilerTest, AShorterFrameGivesWhatAPipelineOfThatSizeGives) {
  CpuCompiler compiler;
  const test::Operations operations{operation("resize", {{"width", 20.0}, {"height", 24.0}}),
                                    operation("unsharp", {{"amount", 1.0}})};
  HeldFrame whole(FrameFormat::packed(PixelFormat::rgb8, 40, 48)), part(FrameFormat::packed(PixelFormat::rgb8, 40, 30));
  for (size_t i = 0; i < part.bytes.size(); ++i) part.bytes[i] = std::byte(i * 31 % 251);
  const auto large = compiler.compile(request_of(operations, whole.format)).take();
  test::Operations own = operations;
  own[0].arguments["height"] = 15.0;
  const auto small = compiler.compile(request_of(own, part.format)).take();
  Result<HeldFrame> made = test::run_frame(*large, part);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().format.height, 15U);
  EXPECT_EQ(made.value().bytes, test::run_frame(*small, part).value().bytes);
  EXPECT_EQ(compiler.compilations(), 1U);
}

TEST(CpuCompilerTest, AFrameThatDoesNotFitIsRefusedAndTheNextOneRuns) {
  CpuCompiler compiler;
  const test::Operations crop{operation("crop", {{"x", 0.0}, {"y", 20.0}, {"width", 8.0}, {"height", 10.0}})};
  HeldFrame frame(FrameFormat::packed(PixelFormat::mono8, 16, 30));
  const auto pipeline = compiler.compile(request_of(crop, frame.format)).take();
  HeldFrame shorter(FrameFormat::packed(PixelFormat::mono8, 16, 24)),
      none(FrameFormat::packed(PixelFormat::mono8, 16, 20));
  EXPECT_EQ(test::run_frame(*pipeline, shorter).value().format.height, 4U);
  EXPECT_EQ(test::run_frame(*pipeline, none).error().code, ErrorCode::pipeline_failed);
  HeldFrame wider(FrameFormat::packed(PixelFormat::mono8, 17, 30));
  EXPECT_EQ(test::run_frame(*pipeline, wider).error().code, ErrorCode::pipeline_failed);
  EXPECT_TRUE(test::run_frame(*pipeline, frame).ok());
}

TEST(CpuCompilerTest, RowsMayLieApart) {
  CpuCompiler compiler;
  HeldFrame packed(FrameFormat::packed(PixelFormat::rgb8, 13, 9));
  for (size_t i = 0; i < packed.bytes.size(); ++i) packed.bytes[i] = std::byte(i * 17 % 253);
  FrameFormat apart = packed.format;
  apart.row_stride_bytes = 64;
  HeldFrame padded(apart);
  for (size_t row = 0; row < 9; ++row) std::memcpy(&padded.bytes[row * 64], &packed.bytes[row * 39], 39);
  const auto pipeline = compiler.compile(request_of({operation("unsharp", {{"amount", 1.0}})}, apart)).take();
  EXPECT_EQ(test::run_frame(*pipeline, padded).value().bytes, test::run_frame(*pipeline, packed).value().bytes);
}

}  // namespace
}  // namespace framelane::halide
