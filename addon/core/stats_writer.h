// Writing cells of a group so that a reader in another process can tell a whole state from a half one.
#pragma once

#include <cstdint>

#include "core/stats_layout.h"

namespace framelane::stats {

// Makes the sequence odd, and even again at its end. Stores are release stores: none of them can be seen before
// the odd sequence, nor after the even one, without a fence (which ThreadSanitizer does not know).
// Thread-safety: lives on the stack of the group's one writer.
class Update {
 public:
  explicit Update(Cell& sequence) noexcept : sequence_(sequence) { advance(); }
  ~Update() { advance(); }
  Update(const Update&) = delete;
  Update& operator=(const Update&) = delete;

  void add(Cell& cell, uint64_t amount = 1) noexcept {
    cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_release);
  }
  void set(Cell& cell, uint64_t value) noexcept { cell.store(value, std::memory_order_release); }

 private:
  void advance() noexcept { sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  Cell& sequence_;
};

// Adds to a cell that belongs to no sequence. Thread-safety: the cell's one writer.
inline void add_alone(Cell& cell, uint64_t amount = 1) noexcept {
  cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_release);
}

}  // namespace framelane::stats
