#include "cuda/completions.h"

#include <pthread.h>

#include <ctime>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/thread_policy.h"

namespace framelane::cuda {
namespace {

// Few who wait are told sooner: then the bus has pauses that a later call prolongs. With many it has work for long
// enough, and the time of this thread counts for more.
constexpr uint32_t kFew = 4;
constexpr long kPauseNs = 20'000;
constexpr long kPauseOfManyNs = 50'000;

void pause(long duration_ns) noexcept {
  const timespec duration{0, duration_ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
}

}  // namespace

void Completions::Ticket::settle() const noexcept {
  while (held_.load(std::memory_order_acquire)) std::this_thread::yield();
}

Status Completions::open(const Context& context) {
  ending_.store(false);
  try {
    context_ = &context;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    context_ = nullptr;
    return Error{ErrorCode::out_of_memory, std::string("no thread can be started: ") + error.what()};
  }
  return {};
}

void Completions::close() noexcept {
  if (!thread_.joinable()) return;
  ending_.store(true);
  bell_.notify();
  thread_.join();
  context_ = nullptr;
}

CUresult Completions::wait(const Driver& driver, CUevent event, Ticket& ticket) noexcept {
  if (context_ == nullptr) return driver.cuEventSynchronize(event);
  if (const CUresult result = driver.cuEventQuery(event); result != CUDA_ERROR_NOT_READY) return result;
  ticket.settle();
  ticket.event_ = event;
  ticket.held_.store(true, std::memory_order_relaxed);
  ticket.over_.store(false, std::memory_order_relaxed);
  ticket.next_ = arrived_.load(std::memory_order_relaxed);
  while (!arrived_.compare_exchange_weak(ticket.next_, &ticket, std::memory_order_seq_cst)) {
  }
  bell_.notify();
  ticket.signal_.wait_until(kNoDeadline, [&] { return ticket.over_.load(std::memory_order_acquire); });
  return ticket.result_;
}

// The latest one is on top: they are turned round.
void Completions::take_arrived() noexcept {
  Ticket* arrived = arrived_.exchange(nullptr, std::memory_order_acquire);
  Ticket* ordered = nullptr;
  while (arrived != nullptr) {
    Ticket* const next = std::exchange(arrived->next_, ordered);
    ordered = std::exchange(arrived, next);
  }
  for (; ordered != nullptr; ordered = ordered->next_) {
    *end_ = ordered;
    end_ = &ordered->next_;
    ++waiting_;
  }
}

void Completions::ask() noexcept {
  for (Ticket** place = &first_; *place != nullptr;) {
    Ticket& ticket = **place;
    const CUresult result = context_->driver().cuEventQuery(ticket.event_);
    if (result == CUDA_ERROR_NOT_READY) {
      place = &ticket.next_;
      continue;
    }
    *place = ticket.next_;
    if (end_ == &ticket.next_) end_ = place;
    --waiting_;
    ticket.result_ = result;
    ticket.over_.store(true, std::memory_order_release);
    ticket.signal_.notify();
    ticket.held_.store(false, std::memory_order_release);
  }
}

void Completions::run() noexcept {
  pthread_setname_np(pthread_self(), "fl-done");
  sleep_precisely();
  // Where it fails, each query says so to who waits.
  std::ignore = context_->make_current();
  for (;;) {
    take_arrived();
    if (first_ == nullptr) {
      bell_.wait_until(kNoDeadline, [this] { return arrived_.load() != nullptr || ending_.load(); });
      if (arrived_.load() == nullptr) return;
      continue;
    }
    pause(waiting_ <= kFew ? kPauseNs : kPauseOfManyNs);
    ask();
  }
}

}  // namespace framelane::cuda
