// What every Sink keeps. A layer's tests include this in one file only and instantiate it there.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/sink.h"

namespace framelane::conformance {

struct SinkCase {
  std::string name;
  std::function<std::unique_ptr<Sink>()> make;
  FrameFormat format;
};

inline std::ostream& operator<<(std::ostream& out, const SinkCase& sink) {
  return out << sink.name;
}

class SinkConformance : public ::testing::TestWithParam<SinkCase> {
 protected:
  SinkConformance() : sink_(GetParam().make()) {}

  ResultFrame frame(uint64_t sequence, const FrameFormat& format) {
    pixels_.assign(format.bytes(), static_cast<std::byte>(sequence & 0xff));
    ResultFrame frame;
    frame.view.data = pixels_.data();
    frame.view.format = format;
    frame.meta.frame_id = sequence;
    frame.meta.arrival_ns = monotonic_now_ns();
    frame.meta.width = format.width;
    frame.meta.height = format.height;
    frame.meta.size_bytes = format.bytes();
    frame.sequence = sequence;
    return frame;
  }
  void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.error().message; }

  std::vector<std::byte> pixels_;
  std::unique_ptr<Sink> sink_;
};

TEST_P(SinkConformance, TakesFramesBetweenOpenAndClose) {
  expect_ok(sink_->open(GetParam().format));
  for (uint64_t i = 0; i < 20; ++i) expect_ok(sink_->write(frame(i, GetParam().format)));
  expect_ok(sink_->close());
}

TEST_P(SinkConformance, ClosesWithoutAFrame) {
  expect_ok(sink_->open(GetParam().format));
  expect_ok(sink_->close());
}

TEST_P(SinkConformance, OpensAgainAfterClose) {
  for (uint64_t round = 0; round < 3; ++round) {
    expect_ok(sink_->open(GetParam().format));
    expect_ok(sink_->write(frame(round, GetParam().format)));
    expect_ok(sink_->close());
  }
}

TEST_P(SinkConformance, OpensAgainForAnotherFormat) {
  expect_ok(sink_->open(GetParam().format));
  expect_ok(sink_->write(frame(0, GetParam().format)));
  expect_ok(sink_->close());
  const FrameFormat larger =
      FrameFormat::packed(GetParam().format.pixel, GetParam().format.width * 2, GetParam().format.height * 2);
  expect_ok(sink_->open(larger));
  expect_ok(sink_->write(frame(1, larger)));
  expect_ok(sink_->close());
}

TEST_P(SinkConformance, TakesGapsInTheSequence) {
  expect_ok(sink_->open(GetParam().format));
  for (const uint64_t sequence : {5ULL, 6ULL, 100ULL, 1'000'000ULL}) {
    expect_ok(sink_->write(frame(sequence, GetParam().format)));
  }
  expect_ok(sink_->close());
}

TEST_P(SinkConformance, AShorterFrameIsTakenOrRefusedAndTheNextIsFine) {
  expect_ok(sink_->open(GetParam().format));
  FrameFormat shorter = GetParam().format;
  shorter.height = 1;
  (void)sink_->write(frame(0, shorter));
  expect_ok(sink_->write(frame(1, GetParam().format)));
  expect_ok(sink_->close());
}

TEST_P(SinkConformance, GoesWithoutBeingClosed) {
  expect_ok(sink_->open(GetParam().format));
  expect_ok(sink_->write(frame(0, GetParam().format)));
  sink_.reset();
}

}  // namespace framelane::conformance
