// Waits as a test may: by asking again and again.
#pragma once

#include <thread>

#include "core/pipeline.h"

namespace framelane::fakes {

inline void await_inputs(Pipeline& pipeline, LaneIndex lane) {
  while (!pipeline.inputs_read(lane)) std::this_thread::yield();
}

}  // namespace framelane::fakes
