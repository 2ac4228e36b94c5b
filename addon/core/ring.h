// The fixed set of frame slots between a source and its channel's worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/frame.h"
#include "core/slot_memory.h"
#include "core/source.h"

namespace framelane {

class Signal;

// What a full ring does, in GenICam SFNC's terms.
enum class HandlingMode : uint8_t { oldest_first, oldest_first_overwrite, newest_only };

struct RingConfig {
  uint32_t slots = 6;  // 2..256; 3 at least for the overwriting modes
  HandlingMode handling = HandlingMode::oldest_first_overwrite;
  size_t slot_bytes = 0;
  std::string owner;         // the channel's name, for messages
  Signal* full = nullptr;    // what deliver() and wake() notify; null: a signal of the ring's own
  Device* device = nullptr;  // whose copies read the slots; it outlives the ring
  SlotSharing sharing = SlotSharing::peers;
};

struct FilledSlot {
  SlotIndex index = 0;
  const std::byte* data = nullptr;
  FrameMeta meta;
};

// Slots are page-aligned each. Where peers may fill them they live in one mapping of a sealed memfd; slot states and
// queues live in private memory, so that no other process can corrupt them. Thread-safety: acquire, deliver, cancel,
// filling: the source's thread, and the worker's while no source runs. take, release: the worker's thread. The counts
// may be read by any thread. Lock-free; nothing allocates after create().
class Ring {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Ring>> create(const RingConfig& config);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  [[nodiscard]] int fd() const noexcept;  // of the memfd; owned by the ring; -1: no peer may fill it
  [[nodiscard]] std::byte* mapping() const noexcept;
  [[nodiscard]] size_t mapping_bytes() const noexcept;
  [[nodiscard]] uint32_t slots() const noexcept;
  [[nodiscard]] size_t slot_stride_bytes() const noexcept;
  [[nodiscard]] std::byte* slot_data(SlotIndex slot) const noexcept;

  struct Acquired {
    SlotIndex slot = 0;
    bool overwrote = false;  // took the oldest full slot: one frame dropped{overwritten or superseded}
  };
  [[nodiscard]] std::optional<Acquired> acquire() noexcept;
  // Waits at most until `deadline_ns` for a free slot, never overwriting. When it has to sleep at all, it sleeps until
  // `refill` slots are free: one system call for several frames, for a source that is always ahead of the worker.
  [[nodiscard]] std::optional<SlotIndex> acquire_free(MonotonicNs deadline_ns, uint32_t refill = 1) noexcept;
  // The source sleeps until then, and the worker pays nothing for its waking. wake_source() ends it.
  void nap(MonotonicNs until_ns) noexcept;
  [[nodiscard]] uint64_t released() const noexcept;  // slots that the worker gave back so far
  void wake_source() noexcept;  // any thread: acquire_free() and nap() return at once, with or without a slot
  // Returns how many older full slots newest-only gave up for this one.
  uint32_t deliver(SlotIndex slot, const FrameMeta& meta) noexcept;
  void cancel(SlotIndex slot) noexcept;
  // True while the source may fill the slot; deliver() and cancel() of any other slot do nothing.
  [[nodiscard]] bool filling(SlotIndex slot) const noexcept;
  // With the source stopped: takes back the slots that it acquired and neither delivered nor cancelled.
  void reclaim() noexcept;

  [[nodiscard]] std::optional<FilledSlot> take() noexcept;  // never waits
  void release(SlotIndex slot) noexcept;

  // The worker sleeps here: returns when a slot is full, after wake(), or at the deadline.
  void wait_full(MonotonicNs deadline_ns) noexcept;
  void wake() noexcept;  // any thread

  [[nodiscard]] uint32_t full() const noexcept;
  [[nodiscard]] uint32_t reading() const noexcept;

 private:
  class State;
  explicit Ring(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace framelane
