// A channel's own threads for the parallel loops of one frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace framelane::halide {

// Thread-safety: owned by one channel; run() is called on its worker thread, and from within tasks, where it runs
// inline. The pool's threads sleep between frames. run() neither allocates nor locks.
class ThreadPool {
 public:
  // Returns 0, or an error that becomes the loop's.
  using Task = int (*)(void* context, int32_t index, uint8_t* closure);

  explicit ThreadPool(uint32_t threads);  // including the caller of run()
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] uint32_t threads() const noexcept { return static_cast<uint32_t>(helpers_.size()) + 1; }

  // Calls task(context, first + i, closure) for each i below `count`, each once unless one fails, in any order.
  // Returns when no task runs any more: 0, or the result of a task that failed.
  int run(void* context, Task task, int32_t first, int32_t count, uint8_t* closure) noexcept;

  // Whether this thread is inside a task of a pool that has helpers.
  [[nodiscard]] static bool inside() noexcept;

  // 0 for a thread that no pool owns, else 1 .. threads() - 1.
  [[nodiscard]] static uint32_t participant() noexcept;

 private:
  struct Loop {
    void* context = nullptr;
    Task task = nullptr;
    int32_t first = 0;
    int32_t count = 0;
    uint8_t* closure = nullptr;
  };

  void serve(uint32_t participant) noexcept;
  void work() noexcept;

  static constexpr uint32_t kOpen = 1, kHelper = 2;

  Loop loop_;  // written by the worker while the gate is closed and empty
  alignas(64) std::atomic<int32_t> next_{0};
  alignas(64) std::atomic<int32_t> result_{0};
  alignas(64) std::atomic<uint32_t> round_{0};  // one more for each loop; helpers wait on it
  alignas(64) std::atomic<uint32_t> gate_{0};   // kOpen while there is a loop, plus kHelper for each helper inside
  std::atomic<uint32_t> started_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> helpers_;
};

}  // namespace framelane::halide
