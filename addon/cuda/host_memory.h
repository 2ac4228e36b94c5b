// Host memory that the device's copies may use directly: page-locked and registered with the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "core/error.h"
#include "cuda/context.h"
#include "cuda/pinned_arena.h"

namespace framelane::cuda {

// Registered in pieces, none of which a copy may leave: the driver refuses one that crosses two.
// Thread-safety: a value.
struct HostRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  size_t piece_bytes = 0;
  [[nodiscard]] bool holds(const void* data, size_t bytes) const noexcept {
    const auto* const first = static_cast<const std::byte*>(data);
    if (first < begin || bytes == 0 || bytes > size_t(end - begin) || first > end - bytes) return false;
    const size_t offset = size_t(first - begin);
    return offset / piece_bytes == (offset + bytes - 1) / piece_bytes;
  }
};

class HostMemory;

// Page-locked memory of our own, for staging. Thread-safety: a value with one owner; it comes from a HostMemory, which
// outlives it.
class PinnedBlock {
 public:
  PinnedBlock() = default;
  ~PinnedBlock();
  PinnedBlock(PinnedBlock&& other) noexcept;
  PinnedBlock& operator=(PinnedBlock&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

 private:
  friend class HostMemory;
  HostMemory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  bool mapped_ = false;  // for this block alone, and not lent
};

// What was taken at start and is lent, and what others own and the driver has registered.
// Thread-safety: any thread.
class HostMemory {
 public:
  explicit HostMemory(const Context& context) : context_(context) {}
  ~HostMemory();  // nothing is lent or registered for others any more; the context is current
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Once, before anything else: page-locks and verifies, on the GPU's NUMA node. Other channels of the GPU may see
  // their copies late meanwhile. An error where the machine or the driver has not as much.
  [[nodiscard]] Status reserve(size_t bytes);
  // Of the reserve, until forget(): makes no call of the driver. nullptr: not as much is left.
  [[nodiscard]] std::byte* lend(size_t bytes) noexcept;

  // Page-locks slots of `slot_bytes` each and verifies them, a few MiB at a time, one thread at a time, and sleeps in
  // between as long as that took: other channels' copies are late by one piece and not by all. Memory that the driver
  // does not take (another driver's mapping) is no error: find() does not know it, and copies are staged.
  [[nodiscard]] Status adopt(void* data, size_t bytes, size_t slot_bytes);
  void forget(void* data) noexcept;  // what was lent, or adopted

  // The range that holds all of it; empty: not registered, copies have to be staged. Takes a shared lock: ask once, not
  // for each frame. Valid until forget().
  [[nodiscard]] HostRange find(const void* data, size_t bytes) const noexcept;

  // Of the reserve, or, with nothing left there, registered for this block alone.
  [[nodiscard]] Result<PinnedBlock> allocate(size_t bytes);

  [[nodiscard]] uint64_t bytes() const noexcept;       // registered, the reserve included
  [[nodiscard]] uint64_t lent_bytes() const noexcept;  // of the reserve
  [[nodiscard]] uint64_t refused() const noexcept;     // mappings that the driver did not take

 private:
  // Empty: the driver does not take it.
  [[nodiscard]] Result<HostRange> register_pieces(std::byte* data, size_t bytes, size_t piece_bytes);
  void unregister_pieces(const std::byte* data, size_t bytes, size_t piece_bytes) noexcept;
  [[nodiscard]] bool verify(void* data, size_t bytes) const noexcept;
  [[nodiscard]] Status keep(const HostRange& range) noexcept;

  const Context& context_;
  std::mutex pieces_;  // whoever has it registers or unregisters a piece, or sleeps after one
  mutable std::shared_mutex mutex_;
  std::unique_ptr<PinnedArena> arena_;
  std::map<const std::byte*, HostRange> ranges_;
  uint64_t bytes_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace framelane::cuda
