// What is asked of a stream's device memory, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "native/workloads.h"

namespace framelane::bench {

// What one frame of a pipeline asked for, compiled for a GPU and launched kernel by kernel. The test
// native/halide/recorded_frames_test.cpp records it again and compares.
// Thread-safety: a value.
struct RecordedFrame {
  Workload workload;  // its format is that of the highest frame
  uint32_t rows = 0;  // of this one
  // A positive number: a block of so many bytes is asked for; -k: the kth block asked for (from 1) is given back.
  std::vector<int64_t> steps;
};

[[nodiscard]] const std::vector<RecordedFrame>& recorded_frames();

// Thread-safety: a value.
struct Step {
  uint32_t block = 0;  // which of the trace's
  size_t bytes = 0;    // asked for; 0: it is given back
};

// Begins and ends with no block in use.
// Thread-safety: a value.
struct Trace {
  std::string name;
  std::vector<Step> steps;
  uint32_t blocks = 0;
  size_t peak_bytes = 0;  // most that is in use at one time
  size_t peak_step = 0;   // after so many steps
};

// r14: one frame of it. mixed: twelve frames of several pipelines and heights, two of them in work at any time.
[[nodiscard]] const std::vector<Trace>& traces();

}  // namespace framelane::bench
