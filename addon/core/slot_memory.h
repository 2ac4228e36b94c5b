// The memory of a channel's slots, fast for the device that copies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/memory_mapping.h"

namespace framelane {

class Device;

// peers: another process may be given the memory's descriptor; then nothing else lies in it.
enum class SlotSharing : uint8_t { own_process, peers };

// Slots that start on a page each: lent by the device from what it took at start where no peer is to see them, else a
// mapping of their own that the device has adopted. Thread-safety: owned by one holder; the accessors may be called
// from any thread while it lives.
class SlotMemory {
 public:
  // `device`: whose copies read or write the slots; it outlives them. nullptr: none's.
  [[nodiscard]] static Result<SlotMemory> take(const std::string& purpose, size_t slot_bytes, uint32_t slots,
                                               SlotSharing sharing, Device* device);
  SlotMemory() = default;
  ~SlotMemory() { give_back(); }
  SlotMemory(SlotMemory&& other) noexcept;
  SlotMemory& operator=(SlotMemory&& other) noexcept;

  [[nodiscard]] int fd() const noexcept { return own_.fd(); }  // of the memfd, which stays owned here; -1: it is lent
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] size_t size_bytes() const noexcept { return size_bytes_; }

 private:
  void give_back() noexcept;

  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  SharedMapping own_;
};

}  // namespace framelane
