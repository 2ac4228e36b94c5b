#include "cuda/admission.h"

#include <algorithm>

namespace framelane::cuda {
namespace {

constexpr int64_t kNoHurryNs = 1'000'000'000;

}  // namespace

Urgency urgency_of(const ServiceWishes& wishes, MonotonicNs arrival_ns) noexcept {
  return {wishes.on_overload == OnOverload::degrade_others,
          arrival_ns + (wishes.deadline_ns > 0 ? wishes.deadline_ns : kNoHurryNs)};
}

bool Admission::try_enter(uint64_t bytes) noexcept {
  uint64_t load = load_.load(std::memory_order_relaxed);
  do {
    if (waiting_in(load) != 0 || !has_room(load, bytes)) return false;
  } while (!load_.compare_exchange_weak(load, load + weight(bytes), std::memory_order_relaxed));
  return true;
}

Admission::Outcome Admission::enter(uint64_t bytes, const Urgency& urgency, MonotonicNs give_up_ns,
                                    Ticket& ticket) noexcept {
  if (try_enter(bytes)) return Outcome::entered;
  ticket.bytes_ = bytes;
  ticket.urgency_ = urgency;
  ticket.called_.store(false, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    // Counted before the room is looked at: whoever leaves after that look sees somebody waiting.
    load_.fetch_add(1, std::memory_order_seq_cst);
    Ticket** place = &first_;
    while (*place != nullptr && !(urgency < (*place)->urgency_)) place = &(*place)->next_;
    ticket.next_ = *place;
    *place = &ticket;
    call_next();
  }
  waits_.fetch_add(1, std::memory_order_relaxed);
  const MonotonicNs patience_ns = monotonic_now_ns() + limits_.patience_ns;
  ticket.signal_.wait_until(std::min(give_up_ns, patience_ns),
                            [&] { return ticket.called_.load(std::memory_order_acquire); });
  // Also when it was called: the caller may still be at its signal.
  const std::lock_guard lock(mutex_);
  if (ticket.called_.load(std::memory_order_relaxed)) return Outcome::entered;
  Ticket** place = &first_;
  while (*place != &ticket) place = &(*place)->next_;
  *place = ticket.next_;
  load_.fetch_sub(1, std::memory_order_relaxed);
  const bool late = give_up_ns < patience_ns;
  if (!late) {
    load_.fetch_add(weight(bytes), std::memory_order_relaxed);
    overrun_.fetch_add(1, std::memory_order_relaxed);
  }
  // A smaller one may have waited behind it.
  call_next();
  return late ? Outcome::late : Outcome::entered;
}

void Admission::call_next() noexcept {
  while (first_ != nullptr) {
    Ticket& next = *first_;
    uint64_t load = load_.load(std::memory_order_seq_cst);
    do {
      if (!has_room(load, next.bytes_)) return;
    } while (!load_.compare_exchange_weak(load, load + weight(next.bytes_) - 1, std::memory_order_seq_cst));
    first_ = next.next_;
    next.called_.store(true, std::memory_order_release);
    next.signal_.notify();
  }
}

void Admission::leave(uint64_t bytes) noexcept {
  const uint64_t before = load_.fetch_sub(weight(bytes), std::memory_order_seq_cst);
  if (waiting_in(before) == 0) return;
  const std::lock_guard lock(mutex_);
  call_next();
}

}  // namespace framelane::cuda
