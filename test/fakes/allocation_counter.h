// Counts every malloc and free of the process, whoever calls it. Defines the allocation functions: to be included
// in one file of a test binary only.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FRAMELANE_SANITIZER_HOOKS 1
#else
#define FRAMELANE_SANITIZER_HOOKS 0
#endif

namespace framelane::fakes {

// Thread-safety: any thread.
struct AllocationCounter {
  static inline std::atomic<uint64_t> allocations{0};
  static inline std::atomic<uint64_t> frees{0};

  static void allocated() noexcept { allocations.fetch_add(1, std::memory_order_relaxed); }
  static void freed() noexcept { frees.fetch_add(1, std::memory_order_relaxed); }
};

}  // namespace framelane::fakes

#define FRAMELANE_EXPORTED extern "C" __attribute__((visibility("default"), used))

#if FRAMELANE_SANITIZER_HOOKS

// The sanitizers own malloc and call these.
FRAMELANE_EXPORTED void __sanitizer_malloc_hook(const volatile void*, size_t) {
  framelane::fakes::AllocationCounter::allocated();
}
FRAMELANE_EXPORTED void __sanitizer_free_hook(const volatile void*) {
  framelane::fakes::AllocationCounter::freed();
}

#else

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

FRAMELANE_EXPORTED void* malloc(size_t size) {
  framelane::fakes::AllocationCounter::allocated();
  return __libc_malloc(size);
}
FRAMELANE_EXPORTED void* calloc(size_t count, size_t size) {
  framelane::fakes::AllocationCounter::allocated();
  return __libc_calloc(count, size);
}
FRAMELANE_EXPORTED void* realloc(void* data, size_t size) {
  framelane::fakes::AllocationCounter::allocated();
  return __libc_realloc(data, size);
}
FRAMELANE_EXPORTED void* memalign(size_t alignment, size_t size) {
  framelane::fakes::AllocationCounter::allocated();
  return __libc_memalign(alignment, size);
}
FRAMELANE_EXPORTED void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
FRAMELANE_EXPORTED int posix_memalign(void** data, size_t alignment, size_t size) {
  *data = memalign(alignment, size);
  return *data == nullptr ? ENOMEM : 0;
}
FRAMELANE_EXPORTED void free(void* data) {
  if (data != nullptr) framelane::fakes::AllocationCounter::freed();
  __libc_free(data);
}

#endif
