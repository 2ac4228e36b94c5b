// All sinks of a channel, as its worker sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/sink_runner.h"

namespace framelane {

// Bit i: sink i takes the frame.
using SinkMask = uint32_t;

// Thread-safety: owned by the worker.
class SinkSet {
 public:
  // Output slots that sinks of these specs can hold at once, beside those of the lanes; 0 also when none is wanted.
  [[nodiscard]] static uint32_t slots_held(const std::vector<SinkSpec>& specs) noexcept;
  [[nodiscard]] static bool want_host(const std::vector<SinkSpec>& specs) noexcept;

  SinkSet(const ChannelSpec& spec, stats::ChannelBlock& block, EventReporter& events,
          std::shared_ptr<Attention> attention);

  // Starts the runners, or moves running ones to another format and pool. A null pool: nobody wants a frame.
  void open(const FrameFormat& format, const std::shared_ptr<OutputPool>& pool);
  void finish() noexcept;  // all at once, then joined

  // Who takes the frame that is submitted next.
  [[nodiscard]] SinkMask choose() noexcept;
  // The frame failed: who would have taken it takes the next one.
  void missed(SinkMask mask) noexcept;
  void deliver(SinkMask mask, uint32_t slot, size_t bytes, const std::function<bool()>& leave) noexcept;

 private:
  struct Tap {
    uint32_t until_next = 0;
    std::unique_ptr<SinkRunner> runner;  // null: none, or the worker itself discards the frame
  };

  const ChannelSpec& spec_;
  stats::ChannelBlock& block_;
  EventReporter& events_;
  const std::shared_ptr<Attention> attention_;
  std::vector<Tap> taps_;
};

}  // namespace framelane
