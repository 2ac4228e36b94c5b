// Whose copy goes over the bus next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "core/frame.h"
#include "core/pipeline.h"
#include "core/signal.h"

namespace framelane::cuda {

// What orders those who wait. Thread-safety: a value.
struct Urgency {
  bool goes_first = false;  // before everybody who does not
  MonotonicNs due_ns = 0;   // then the earliest

  [[nodiscard]] bool operator<(const Urgency& other) const noexcept {
    return goes_first != other.goes_first ? goes_first : due_ns < other.due_ns;
  }
};

// Of a frame that arrived then, on a channel with these wishes. A channel without a deadline is served as if it had one
// of a second: it waits for the others, and not for ever.
[[nodiscard]] Urgency urgency_of(const ServiceWishes& wishes, MonotonicNs arrival_ns) noexcept;

// The driver works off the copies that it has in the order in which it got them, whatever the priority of their
// streams. So it gets only as many as keep the bus busy; everybody else waits here, and the most urgent one goes next.
// While there is room and nobody waits, entering and leaving are one atomic operation each. Else the one who enters
// sleeps, and the one who leaves wakes him: a lock is held for the length of a list's search, never while sleeping.
// Nobody is held longer than the patience lasts: then he goes all the same. So nothing that goes wrong elsewhere, a
// kernel that never ends or a worker that is stuck, stops the bus for the others.
// Thread-safety: any thread. Owned by the device, outlives its lanes.
class Admission {
 public:
  struct Limits {
    uint64_t bytes = 0;          // of all copies that have entered
    uint32_t fewest_copies = 2;  // however large they are, so that the bus is busy while one is told of its end
    int64_t patience_ns = 1'000'000'000;
  };

  enum class Outcome : uint8_t { entered, late };

  // What its place needs while it waits; kept by the caller, so that waiting allocates nothing. Not shared.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

   private:
    friend class Admission;
    uint64_t bytes_ = 0;
    Urgency urgency_;
    Ticket* next_ = nullptr;
    std::atomic<bool> called_{false};
    Signal signal_;
  };

  explicit Admission(Limits limits) noexcept : limits_(limits) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // True: leave(bytes) is owed. False: there is no room, or others wait. Never waits.
  [[nodiscard]] bool try_enter(uint64_t bytes) noexcept;
  // Waits for its turn, at most until `give_up_ns` (kNoDeadline: until its turn, or until the patience is over).
  // entered: leave(bytes) is owed. late: the time is over and it has not entered.
  [[nodiscard]] Outcome enter(uint64_t bytes, const Urgency& urgency, MonotonicNs give_up_ns, Ticket& ticket) noexcept;
  void leave(uint64_t bytes) noexcept;

  // As they stand now.
  [[nodiscard]] uint64_t bytes() const noexcept { return load_.load(std::memory_order_relaxed) >> kBytesShift; }
  [[nodiscard]] uint32_t copies() const noexcept { return copies_in(load_.load(std::memory_order_relaxed)); }
  [[nodiscard]] uint32_t waiting() const noexcept { return waiting_in(load_.load(std::memory_order_relaxed)); }
  // Since the start: those who had to wait, and those whose patience was over.
  [[nodiscard]] uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t overrun() const noexcept { return overrun_.load(std::memory_order_relaxed); }

 private:
  // All of the state that the fast path needs is one word: bytes | copies | waiting.
  static constexpr unsigned kWaitingBits = 12;
  static constexpr unsigned kCopiesBits = 12;
  static constexpr unsigned kBytesShift = kWaitingBits + kCopiesBits;
  static constexpr uint64_t kOneCopy = uint64_t{1} << kWaitingBits;

  static constexpr uint32_t waiting_in(uint64_t load) noexcept { return load & ((1U << kWaitingBits) - 1); }
  static constexpr uint32_t copies_in(uint64_t load) noexcept {
    return (load >> kWaitingBits) & ((1U << kCopiesBits) - 1);
  }
  [[nodiscard]] static constexpr uint64_t weight(uint64_t bytes) noexcept { return (bytes << kBytesShift) + kOneCopy; }
  [[nodiscard]] bool has_room(uint64_t load, uint64_t bytes) const noexcept {
    return copies_in(load) < limits_.fewest_copies || (load >> kBytesShift) + bytes <= limits_.bytes;
  }
  void call_next() noexcept;  // under the lock

  const Limits limits_;
  alignas(64) std::atomic<uint64_t> load_{0};
  std::atomic<uint64_t> waits_{0}, overrun_{0};
  alignas(64) std::mutex mutex_;
  Ticket* first_ = nullptr;  // the most urgent; under the lock
};

}  // namespace framelane::cuda
