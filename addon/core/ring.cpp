#include "core/ring.h"

#include <algorithm>
#include <vector>

#include "core/overwrite_queue.h"
#include "core/signal.h"
#include "core/slot_memory.h"
#include "core/spsc_queue.h"

namespace framelane {
namespace {

enum class SlotState : uint8_t { free, filling, full, reading };

constexpr uint32_t kMostSlots = 256;
constexpr uint64_t kNoWish = UINT64_MAX;

}  // namespace

// Thread-safety: fields are grouped by the thread that owns them. A slot's record belongs to whoever holds the
// slot: it changes hands through the two queues.
class Ring::State {
 public:
  struct Slot {
    // Written by the holder; atomic, for a defective source may ask about a slot that is not its own.
    std::atomic<SlotState> state{SlotState::free};
    FrameMeta meta;

    void become(SlotState next) noexcept { state.store(next, std::memory_order_relaxed); }
    [[nodiscard]] bool is(SlotState expected) const noexcept {
      return state.load(std::memory_order_relaxed) == expected;
    }
  };

  State(const RingConfig& ring_config, SlotMemory memory, size_t stride)
      : config(ring_config),
        mapping(std::move(memory)),
        stride_bytes(stride),
        records(std::make_unique<Slot[]>(ring_config.slots)),
        full_queue(ring_config.slots),
        returned(ring_config.slots),
        full_signal(ring_config.full != nullptr ? *ring_config.full : own_signal) {
    idle.reserve(ring_config.slots);
    for (uint32_t i = ring_config.slots; i-- > 0;) idle.push_back(i);
  }

  // Fixed.
  const RingConfig config;
  const SlotMemory mapping;
  const size_t stride_bytes;

  const std::unique_ptr<Slot[]> records;

  // The source's thread.
  std::vector<SlotIndex> idle;  // free slots that need not cross a thread again
  uint32_t held = 0;            // slots that it fills
  uint64_t taken_back = 0;      // of `released`

  // Both threads.
  OverwriteQueue full_queue;
  SpscQueue<SlotIndex> returned;  // worker -> source
  std::atomic<uint32_t> reading{0};
  std::atomic<uint64_t> released{0};               // slots that the worker gave back
  std::atomic<uint64_t> wanted_released{kNoWish};  // the source sleeps until `released` is so many
  std::atomic<bool> worker_woken{false};
  std::atomic<bool> source_woken{false};
  Signal own_signal;
  Signal& full_signal;
  Signal free_signal;

  [[nodiscard]] std::optional<SlotIndex> pop_free() noexcept {
    if (!idle.empty()) {
      const SlotIndex slot = idle.back();
      idle.pop_back();
      return slot;
    }
    const std::optional<SlotIndex> slot = returned.pop();
    if (slot) ++taken_back;
    return slot;
  }

  // What the source itself holds will not come back while it waits.
  [[nodiscard]] uint32_t attainable(uint32_t refill) const noexcept {
    return std::clamp<uint32_t>(refill, 1, std::max<uint32_t>(1, config.slots - held));
  }
};

Result<std::unique_ptr<Ring>> Ring::create(const RingConfig& config) {
  const uint32_t fewest = config.handling == HandlingMode::oldest_first ? 2 : 3;
  if (config.slots < fewest || config.slots > kMostSlots) {
    return Error{ErrorCode::invalid_argument, "the ring of " + config.owner + " has " + std::to_string(config.slots) +
                                                  " slots; its handling mode takes " + std::to_string(fewest) + " to " +
                                                  std::to_string(kMostSlots)};
  }
  if (config.slot_bytes == 0 || config.slot_bytes > SIZE_MAX / 2 / kMostSlots) {
    return Error{ErrorCode::invalid_argument, "the ring of " + config.owner + " cannot have slots of " +
                                                  std::to_string(config.slot_bytes) + " bytes"};
  }
  const size_t stride = round_up_to_page(config.slot_bytes);
  Result<SlotMemory> mapping =
      SlotMemory::take("ring of " + config.owner, stride, config.slots, config.sharing, config.device);
  if (!mapping) return mapping.error();
  return std::unique_ptr<Ring>(new Ring(std::make_unique<State>(config, mapping.take(), stride)));
}

Ring::Ring(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Ring::~Ring() = default;

int Ring::fd() const noexcept {
  return state_->mapping.fd();
}
std::byte* Ring::mapping() const noexcept {
  return state_->mapping.data();
}
size_t Ring::mapping_bytes() const noexcept {
  return state_->mapping.size_bytes();
}
uint32_t Ring::slots() const noexcept {
  return state_->config.slots;
}
size_t Ring::slot_stride_bytes() const noexcept {
  return state_->stride_bytes;
}
std::byte* Ring::slot_data(SlotIndex slot) const noexcept {
  return mapping() + size_t{slot} * state_->stride_bytes;
}

std::optional<Ring::Acquired> Ring::acquire() noexcept {
  std::optional<SlotIndex> slot = state_->pop_free();
  bool overwrote = false;
  if (!slot && state_->config.handling != HandlingMode::oldest_first) {
    slot = state_->full_queue.pop();
    overwrote = slot.has_value();
    // The worker may have emptied the queue just now and given slots back.
    if (!slot) slot = state_->pop_free();
  }
  if (!slot) return std::nullopt;
  state_->records[*slot].become(SlotState::filling);
  ++state_->held;
  return Acquired{*slot, overwrote};
}

std::optional<SlotIndex> Ring::acquire_free(MonotonicNs deadline_ns, uint32_t refill) noexcept {
  std::optional<SlotIndex> slot = state_->pop_free();
  if (!slot && deadline_ns > 0) {
    const uint64_t wanted = state_->taken_back + state_->attainable(refill);
    state_->wanted_released.store(wanted, std::memory_order_seq_cst);
    state_->free_signal.wait_until(deadline_ns, [&] {
      return state_->released.load(std::memory_order_seq_cst) >= wanted ||
             state_->source_woken.exchange(false, std::memory_order_acq_rel);
    });
    state_->wanted_released.store(kNoWish, std::memory_order_relaxed);
    slot = state_->pop_free();
  }
  if (!slot) return std::nullopt;
  state_->records[*slot].become(SlotState::filling);
  ++state_->held;
  return slot;
}

void Ring::nap(MonotonicNs until_ns) noexcept {
  state_->free_signal.wait_until(until_ns,
                                 [this] { return state_->source_woken.exchange(false, std::memory_order_acq_rel); });
}

uint64_t Ring::released() const noexcept {
  return state_->released.load(std::memory_order_relaxed);
}

void Ring::wake_source() noexcept {
  state_->source_woken.store(true, std::memory_order_release);
  state_->free_signal.notify();
}

bool Ring::filling(SlotIndex slot) const noexcept {
  return slot < state_->config.slots && state_->records[slot].is(SlotState::filling);
}

uint32_t Ring::deliver(SlotIndex slot, const FrameMeta& meta) noexcept {
  if (!filling(slot)) return 0;
  uint32_t superseded = 0;
  if (state_->config.handling == HandlingMode::newest_only) {
    while (const std::optional<SlotIndex> older = state_->full_queue.pop()) {
      state_->records[*older].become(SlotState::free);
      state_->idle.push_back(*older);
      ++superseded;
    }
  }
  state_->records[slot].meta = meta;
  state_->records[slot].become(SlotState::full);
  --state_->held;
  (void)state_->full_queue.push(slot);  // as many places as slots: never full
  state_->full_signal.notify();
  return superseded;
}

void Ring::cancel(SlotIndex slot) noexcept {
  if (!filling(slot)) return;
  state_->records[slot].become(SlotState::free);
  state_->idle.push_back(slot);
  --state_->held;
}

void Ring::reclaim() noexcept {
  // The worker itself calls this, so no slot changes hands meanwhile.
  for (SlotIndex slot = 0; slot < state_->config.slots; ++slot) {
    if (state_->records[slot].is(SlotState::filling)) cancel(slot);
  }
}

std::optional<FilledSlot> Ring::take() noexcept {
  const std::optional<uint32_t> slot = state_->full_queue.pop();
  if (!slot) return std::nullopt;
  State::Slot& record = state_->records[*slot];
  record.become(SlotState::reading);
  state_->reading.fetch_add(1, std::memory_order_relaxed);
  return FilledSlot{*slot, slot_data(*slot), record.meta};
}

void Ring::release(SlotIndex slot) noexcept {
  state_->records[slot].become(SlotState::free);
  state_->reading.fetch_sub(1, std::memory_order_relaxed);
  (void)state_->returned.push(slot);  // as many places as slots: never full
  // Either the sleeper-to-be sees this count, or its wish is seen here: both are sequentially consistent.
  const uint64_t released = state_->released.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (released >= state_->wanted_released.load(std::memory_order_seq_cst)) state_->free_signal.notify();
}

void Ring::wait_full(MonotonicNs deadline_ns) noexcept {
  state_->full_signal.wait_until(
      deadline_ns, [this] { return full() > 0 || state_->worker_woken.exchange(false, std::memory_order_acq_rel); });
}

void Ring::wake() noexcept {
  state_->worker_woken.store(true, std::memory_order_release);
  state_->full_signal.notify();
}

uint32_t Ring::full() const noexcept {
  return state_->full_queue.size();
}
uint32_t Ring::reading() const noexcept {
  return state_->reading.load(std::memory_order_relaxed);
}

}  // namespace framelane
