#include "core/slot_memory.h"

#include <utility>

#include "core/device.h"

namespace framelane {

Result<SlotMemory> SlotMemory::take(const std::string& purpose, size_t slot_bytes, uint32_t slots, SlotSharing sharing,
                                    Device* device) {
  SlotMemory memory;
  memory.size_bytes_ = slot_bytes * slots;
  if (device != nullptr && sharing == SlotSharing::own_process) {
    memory.data_ = device->lend_host(memory.size_bytes_);
    if (memory.data_ != nullptr) {
      memory.device_ = device;
      return memory;
    }
  }
  const int node = device != nullptr ? device->info().numa_node : -1;
  Result<SharedMapping> own = SharedMapping::create(purpose, memory.size_bytes_, PeerAccess::read_write, node);
  if (!own) return own.error();
  memory.own_ = own.take();
  memory.data_ = memory.own_.data();
  if (device == nullptr) return memory;
  if (Status adopted = device->adopt_host(memory.data_, memory.size_bytes_, slot_bytes); !adopted)
    return adopted.error();
  memory.device_ = device;
  return memory;
}

SlotMemory::SlotMemory(SlotMemory&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      own_(std::move(other.own_)) {}

SlotMemory& SlotMemory::operator=(SlotMemory&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  device_ = std::exchange(other.device_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  own_ = std::move(other.own_);
  return *this;
}

void SlotMemory::give_back() noexcept {
  if (device_ != nullptr) device_->forget_host(data_);
}

}  // namespace framelane
