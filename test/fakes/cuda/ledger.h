// The fake's one lock. ThreadSanitizer does not see it: what it sees of streams and threads is only what the real
// driver promises (publish and observe), so that a missing event or wait in the product shows as a race.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace framelane::fake_cuda {

// Between construction and destruction ThreadSanitizer ignores this thread's memory accesses and locks.
// Thread-safety: on one thread's stack.
class Unseen {
 public:
  Unseen() noexcept;
  ~Unseen();
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

// This thread is in the fake's own code.
[[nodiscard]] bool inside() noexcept;

// Holds the lock over everything in state.h. What is dropped under it must be dropped before it ends.
// Thread-safety: on one thread's stack.
class Ledger {
 public:
  // Waits before it takes the lock, for a call that a test has made slow.
  explicit Ledger(uint64_t delay_ns = 0);
  // Runs something of the test's or copies bytes: without the lock, seen by ThreadSanitizer.
  template <typename Function>
  void outside(const Function& function);
  void wait(std::condition_variable& changed) { changed.wait(lock_); }
  // False: it is later than the deadline (CLOCK_MONOTONIC).
  bool wait_until(std::condition_variable& changed, int64_t deadline_ns);

 private:
  void leave() noexcept;
  void enter();

  Unseen unseen_;
  std::unique_lock<std::mutex> lock_;
};

template <typename Function>
void Ledger::outside(const Function& function) {
  leave();
  function();
  enter();
}

// An edge that the driver promises: everything before publish() happened for whoever observes the same token later.
void publish(const void* token) noexcept;
void observe(const void* token) noexcept;

[[nodiscard]] int64_t now_ns() noexcept;  // CLOCK_MONOTONIC

}  // namespace framelane::fake_cuda
