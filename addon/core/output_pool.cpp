#include "core/output_pool.h"

namespace framelane {

size_t OutputPool::slot_bytes(std::span<const FrameFormat> formats) noexcept {
  size_t bytes = 0;
  for (const FrameFormat& format : formats) bytes += round_up_to_page(format.bytes());
  return bytes;
}

Result<std::shared_ptr<OutputPool>> OutputPool::create(const std::string& owner, Device& device,
                                                       std::span<const FrameFormat> formats, uint32_t slots) {
  Result<SlotMemory> memory =
      SlotMemory::take("output slots of " + owner, slot_bytes(formats), slots, SlotSharing::own_process, &device);
  if (!memory) return memory.error();
  return std::shared_ptr<OutputPool>(new OutputPool(memory.take(), formats, slots));
}

OutputPool::OutputPool(SlotMemory memory, std::span<const FrameFormat> formats, uint32_t slots)
    : memory_(std::move(memory)),
      stride_bytes_(slot_bytes(formats)),
      slots_(slots),
      records_(std::make_unique<Record[]>(slots)) {
  size_t offset = 0;
  for (const FrameFormat& format : formats) {
    offsets_bytes_.push_back(offset);
    offset += round_up_to_page(format.bytes());
  }
}

uint32_t OutputPool::acquire() noexcept {
  for (;;) {
    const uint32_t slot = next_;
    next_ = next_ + 1 == slots_ ? 0 : next_ + 1;
    // Acquire: what the last holder read from the slot comes before what is written to it now.
    if (records_[slot].holders.load(std::memory_order_acquire) != 0) continue;
    records_[slot].holders.store(1, std::memory_order_relaxed);
    return slot;
  }
}

void OutputPool::share(uint32_t slot) noexcept {
  records_[slot].holders.fetch_add(1, std::memory_order_relaxed);
}

void OutputPool::give_up(uint32_t slot) noexcept {
  records_[slot].holders.fetch_sub(1, std::memory_order_acq_rel);
}

std::byte* OutputPool::data(uint32_t slot, size_t output) const noexcept {
  return memory_.data() + size_t{slot} * stride_bytes_ + offsets_bytes_[output];
}

uint32_t OutputPool::held() const noexcept {
  uint32_t count = 0;
  for (uint32_t slot = 0; slot < slots_; ++slot) count += records_[slot].holders.load(std::memory_order_acquire) != 0;
  return count;
}

}  // namespace framelane
