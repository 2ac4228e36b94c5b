// What Halide's run-time functions find again when compiled code calls them.
#pragma once

#include <Halide.h>

#include <atomic>

#include "halide/arena.h"
#include "halide/thread_pool.h"

namespace framelane::halide {

// Handed to every call of compiled code, and by Halide to every task of it.
// Thread-safety: owned by one channel; Halide's functions reach it from the pool's threads too.
class FrameContext : public Halide::JITUserContext {
 public:
  FrameContext(Arena& arena, ThreadPool& pool);
  FrameContext(const FrameContext&) = delete;
  FrameContext& operator=(const FrameContext&) = delete;

  void forget_error() noexcept { said_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] const char* error() const noexcept { return error_; }  // the first since forget_error()

 private:
  static void* allocate(Halide::JITUserContext* context, size_t bytes);
  static void release(Halide::JITUserContext* context, void* data);
  static int run_loop(Halide::JITUserContext* context, int (*task)(Halide::JITUserContext*, int, uint8_t*), int first,
                      int count, uint8_t* closure);
  static void take_error(Halide::JITUserContext* context, const char* message);

  Arena& arena_;
  ThreadPool& pool_;
  std::atomic<bool> said_{false};
  char error_[256] = "";
};

}  // namespace framelane::halide
