// What malloc_count.h counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace framelane::test {

inline std::atomic<uint64_t> allocations_counted{0};
inline thread_local uint64_t allocations_of_this_thread = 0;
// When it says so, this thread is in a fake's own code.
inline std::atomic<bool (*)()> inside_a_fake{nullptr};
inline thread_local bool asking_the_fake = false;

// Of the whole process.
[[nodiscard]] inline uint64_t allocations() noexcept {
  return allocations_counted.load();
}

// Of the calling thread, but for those of a fake.
[[nodiscard]] inline uint64_t thread_allocations() noexcept {
  return allocations_of_this_thread;
}

inline void count_allocation() noexcept {
  allocations_counted.fetch_add(1, std::memory_order_relaxed);
  bool (*const inside)() = inside_a_fake.load(std::memory_order_relaxed);
  if (asking_the_fake) return;
  asking_the_fake = true;  // the first question may allocate what the fake keeps for this thread
  if (inside == nullptr || !inside()) ++allocations_of_this_thread;
  asking_the_fake = false;
}

}  // namespace framelane::test
