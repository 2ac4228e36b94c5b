#include "halide/thread_pool.h"

#include <pthread.h>

namespace framelane::halide {
namespace {

thread_local uint32_t this_participant = 0;
thread_local bool inside_task = false;

// About the time that a strip takes: a helper that was just busy is found awake by the next loop of the frame.
constexpr int kSpins = 2000;

void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads) {
  for (uint32_t i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { serve(i); });
  // What a thread allocates when it starts is allocated before the first frame.
  for (uint32_t up = started_.load(); up < helpers_.size(); up = started_.load()) started_.wait(up);
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

uint32_t ThreadPool::participant() noexcept {
  return this_participant;
}

bool ThreadPool::inside() noexcept {
  return inside_task;
}

void ThreadPool::serve(uint32_t participant) noexcept {
  this_participant = participant;
  pthread_setname_np(pthread_self(), "fl-pool");
  started_.fetch_add(1);
  started_.notify_one();
  uint32_t seen = 0;
  while (true) {
    for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; ++spin) pause_briefly();
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    // One that comes late finds the gate closed, or helps with the loop after.
    uint32_t gate = gate_.load(std::memory_order_relaxed);
    while ((gate & kOpen) != 0 && !gate_.compare_exchange_weak(gate, gate + kHelper, std::memory_order_acquire)) {
    }
    if ((gate & kOpen) == 0) continue;
    work();
    if (gate_.fetch_sub(kHelper, std::memory_order_release) == kHelper) gate_.notify_one();
  }
}

void ThreadPool::work() noexcept {
  const Loop loop = loop_;
  inside_task = true;
  while (result_.load(std::memory_order_relaxed) == 0) {
    const int32_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= loop.count) break;
    const int result = loop.task(loop.context, loop.first + index, loop.closure);
    if (result != 0) result_.store(result, std::memory_order_relaxed);
  }
  inside_task = false;
}

int ThreadPool::run(void* context, Task task, int32_t first, int32_t count, uint8_t* closure) noexcept {
  if (helpers_.empty() || count == 1 || inside_task) {
    for (int32_t i = 0; i < count; ++i) {
      const int result = task(context, first + i, closure);
      if (result != 0) return result;
    }
    return 0;
  }
  loop_ = {context, task, first, count, closure};
  next_.store(0, std::memory_order_relaxed);
  result_.store(0, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  work();
  uint32_t gate = gate_.fetch_sub(kOpen, std::memory_order_acquire) - kOpen;
  for (int spin = 0; spin < kSpins && gate != 0; ++spin) {
    pause_briefly();
    gate = gate_.load(std::memory_order_acquire);
  }
  for (; gate != 0; gate = gate_.load(std::memory_order_acquire)) gate_.wait(gate, std::memory_order_acquire);
  return result_.load(std::memory_order_relaxed);
}

}  // namespace framelane::halide
