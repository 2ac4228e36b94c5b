// What is in the frames that are measured, and what has to come out.
#pragma once

#include <cstddef>
#include <vector>

#include "core/error.h"
#include "native/workloads.h"

namespace framelane::bench {

// Thread-safety: immutable once made.
struct Pictures {
  FrameFormat format, result;
  std::vector<std::vector<std::byte>> inputs;    // each another one
  std::vector<std::vector<std::byte>> expected;  // of each input, by the CPU
};

[[nodiscard]] Result<Pictures> make_pictures(const Workload& workload, size_t count);

}  // namespace framelane::bench
