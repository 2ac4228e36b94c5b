// The output slots of a channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/sink.h"
#include "core/slot_memory.h"

namespace framelane {

// Output slots in one piece of memory, each counted by its holders: the lane that fills it, then every sink
// that has it queued. As many as all holders together can hold, so there is always a free one.
// Thread-safety: acquire() on the worker's thread; share() by a holder; give_up() by any holder. A slot's frame is
// written by the worker before it is shared and read-only from then on.
class OutputPool {
 public:
  // The device, whose copies fill the slots, outlives the pool.
  [[nodiscard]] static Result<std::shared_ptr<OutputPool>> create(const std::string& owner, Device& device,
                                                                  std::span<const FrameFormat> formats, uint32_t slots);
  OutputPool(const OutputPool&) = delete;
  OutputPool& operator=(const OutputPool&) = delete;

  [[nodiscard]] static size_t slot_bytes(std::span<const FrameFormat> formats) noexcept;

  // The caller holds the slot. There is always one: see above.
  [[nodiscard]] uint32_t acquire() noexcept;
  void share(uint32_t slot) noexcept;
  void give_up(uint32_t slot) noexcept;

  [[nodiscard]] std::byte* data(uint32_t slot, size_t output) const noexcept;
  [[nodiscard]] ResultFrame& frame(uint32_t slot) noexcept { return records_[slot].frame; }
  [[nodiscard]] uint32_t held() const noexcept;

 private:
  struct Record {
    std::atomic<uint32_t> holders{0};
    ResultFrame frame;
  };
  OutputPool(SlotMemory memory, std::span<const FrameFormat> formats, uint32_t slots);

  const SlotMemory memory_;
  const size_t stride_bytes_;
  std::vector<size_t> offsets_bytes_;  // of each output in a slot
  const uint32_t slots_;
  const std::unique_ptr<Record[]> records_;
  uint32_t next_ = 0;  // the worker's
};

}  // namespace framelane
