// Host memory taken at start, near the GPU, and lent in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "core/error.h"

namespace framelane::cuda {

// One private mapping in large pages where the machine has them, all of it backed from the start. What is lent begins
// on a page. Thread-safety: owned by one holder, one thread at a time; whoever has a piece uses it from any thread.
class PinnedArena {
 public:
  // `numa_node`: where its pages are to lie as long as there is room; -1: anywhere.
  [[nodiscard]] static Result<std::unique_ptr<PinnedArena>> create(size_t bytes, int numa_node);
  ~PinnedArena();
  PinnedArena(const PinnedArena&) = delete;
  PinnedArena& operator=(const PinnedArena&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

  // The smallest gap that is large enough; nullptr: there is none. What it held before is still there.
  [[nodiscard]] std::byte* lend(size_t bytes);
  // False: it was not lent from here.
  bool take_back(const void* piece);
  [[nodiscard]] size_t lent_bytes() const noexcept { return lent_bytes_; }

 private:
  PinnedArena(std::byte* data, size_t bytes);

  std::byte* const data_;
  const size_t bytes_;
  size_t lent_bytes_ = 0;
  std::map<size_t, size_t> gaps_;  // offset -> bytes; no two adjoin
  std::map<size_t, size_t> lent_;  // offset -> bytes
};

}  // namespace framelane::cuda
