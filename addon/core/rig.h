// The memory and the pipeline with which a channel runs frames of one format.
#pragma once

#include <memory>
#include <span>

#include "core/channel.h"
#include "core/output_pool.h"
#include "core/ring.h"

namespace framelane {

// Thread-safety: a value.
struct RingUse {
  HandlingMode handling = HandlingMode::oldest_first;
  SlotSharing sharing = SlotSharing::own_process;
};

// Thread-safety: owned by the worker.
class Rig {
 public:
  // Refuses what the spec's bound or the machine has no memory for; the message names size and wish.
  // `full` is notified of full slots. The device outlives the rig.
  [[nodiscard]] static Result<std::unique_ptr<Rig>> build(const ChannelSpec& spec, Device& device,
                                                          const FrameFormat& format, RingUse use,
                                                          std::unique_ptr<Pipeline> pipeline, Signal& full);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  // Before a pipeline is compiled for it: is this a format whose ring can be there at all?
  [[nodiscard]] static Status check_input(const ChannelSpec& spec, const FrameFormat& format, HandlingMode handling);

  // Another pipeline for the same input, no lane busy. On failure the old one stays. True: the output differs from
  // the former one's, so the sinks have to be opened for it.
  [[nodiscard]] Result<bool> exchange(const ChannelSpec& spec, std::unique_ptr<Pipeline> pipeline);

  [[nodiscard]] const FrameFormat& format() const noexcept { return format_; }
  [[nodiscard]] HandlingMode handling() const noexcept { return handling_; }
  [[nodiscard]] Ring& ring() noexcept { return *ring_; }
  [[nodiscard]] Pipeline& pipeline() noexcept { return *pipeline_; }
  [[nodiscard]] const std::shared_ptr<OutputPool>& pool() const noexcept { return pool_; }  // null: no sink wants it
  [[nodiscard]] const FrameFormat& output() const noexcept { return pipeline_->outputs().front(); }

 private:
  Rig(Device& device, const FrameFormat& format, HandlingMode handling, std::unique_ptr<Pipeline> pipeline,
      std::unique_ptr<Ring> ring, std::shared_ptr<OutputPool> pool) noexcept;

  Device& device_;
  const FrameFormat format_;
  const HandlingMode handling_;
  const std::unique_ptr<Ring> ring_;
  std::unique_ptr<Pipeline> pipeline_;
  std::shared_ptr<OutputPool> pool_;
};

}  // namespace framelane
