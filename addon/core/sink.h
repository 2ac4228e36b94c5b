// What takes a channel's results.
#pragma once

#include <memory>

#include "core/error.h"
#include "core/frame.h"

namespace framelane {

// One finished frame in an output slot. Thread-safety: read-only for all holders.
struct ResultFrame {
  FrameView view;  // host memory
  FrameMeta meta;
  uint64_t sequence = 0;  // counts processed frames of this channel, without a gap
};

// open() -> write()* -> close(). A sink's failure is its own: the channel goes on, the sink is
// re-opened with backoff, what it missed is counted.
// Thread-safety: owned by its runner; open, write and close are called on the sink's own thread.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status open(const FrameFormat& format) = 0;
  virtual Status write(const ResultFrame& frame) = 0;
  virtual Status close() = 0;  // makes what was written durable under its final name
};

}  // namespace framelane
