// What a loop does that watches a variable for some microseconds.
#pragma once

namespace framelane {

// Leaves the core's execution units to its other hardware thread for a fraction of a microsecond.
inline void pause_briefly() noexcept {
  constexpr int kPauses = 16;
  for (int i = 0; i < kPauses; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }
}

}  // namespace framelane
