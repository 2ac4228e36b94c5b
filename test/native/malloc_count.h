// Counts every allocation of the process: the program's, Halide's, libstdc++'s. Include in one file of a binary.
#pragma once

#include <cerrno>
#include <cstddef>

#include "native/allocations.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// The sanitizers own malloc and offer a hook.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, size_t),
                                                         void (*freed)(const volatile void*));

namespace framelane::test {

inline const int hooks_installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { count_allocation(); }, [](const volatile void*) {});

}  // namespace framelane::test

#else

// Definitions in the executable take the place of glibc's for every library too.
extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* data, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  framelane::test::count_allocation();
  return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  framelane::test::count_allocation();
  return __libc_calloc(count, bytes);
}

__attribute__((visibility("default"))) void* realloc(void* data, size_t bytes) {
  framelane::test::count_allocation();
  return __libc_realloc(data, bytes);
}

__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t bytes) {
  framelane::test::count_allocation();
  return __libc_memalign(alignment, bytes);
}

__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}

__attribute__((visibility("default"))) int posix_memalign(void** data, size_t alignment, size_t bytes) {
  *data = memalign(alignment, bytes);
  return *data == nullptr ? ENOMEM : 0;
}

}  // extern "C"

#endif
