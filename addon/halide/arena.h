// Scratch memory for the frames of one channel: blocks are kept and used again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace framelane::halide {

// Each thread of the channel's pool has its own lists, so that nothing is locked. A thread that finds no block of a
// size within a task gets one for every other thread too: once each code path has run on one thread, no thread asks the
// system again. For that, blocks of tasks and blocks of the worker alone are kept apart.
// Thread-safety: allocate() and release() from the threads of one pool, told apart by ThreadPool::participant().
class Arena {
 public:
  explicit Arena(uint32_t threads);
  ~Arena();  // no block may be in use
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Aligned to 64 bytes, with as many readable bytes before and behind it; nullptr: the system has no more, or it is
  // more than 4 GiB.
  [[nodiscard]] void* allocate(size_t bytes) noexcept;
  void release(void* data) noexcept;  // by any thread of the pool

  [[nodiscard]] size_t bytes_held() const noexcept { return bytes_held_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t system_allocations() const noexcept { return blocks_.load(std::memory_order_relaxed); }

 private:
  struct Block;
  struct alignas(64) Lane {
    Block* free[2] = {};                    // owner only; ascending size; the second for use within tasks
    std::atomic<Block*> returned{nullptr};  // pushed by the others, taken whole by the owner
  };

  [[nodiscard]] Block* make_block(size_t bytes, uint32_t owner, bool in_task) noexcept;
  static void keep(Lane& lane, Block* block) noexcept;

  std::vector<Lane> lanes_;
  std::atomic<size_t> bytes_held_{0};
  std::atomic<uint64_t> blocks_{0};
};

}  // namespace framelane::halide
