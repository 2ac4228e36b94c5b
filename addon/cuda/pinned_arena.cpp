#include "cuda/pinned_arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/memory_mapping.h"
#include "core/numa.h"

namespace framelane::cuda {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

size_t round_up(size_t bytes, size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

// Begins on a large page; nullptr: refused.
std::byte* map_aligned(size_t bytes) noexcept {
  void* const wide = mmap(nullptr, bytes + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (wide == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(wide);
  const uintptr_t aligned = round_up(begin, kLargePage);
  if (aligned != begin) munmap(wide, aligned - begin);
  const uintptr_t end = aligned + bytes;
  munmap(reinterpret_cast<void*>(end), begin + bytes + kLargePage - end);
  return reinterpret_cast<std::byte*>(aligned);
}

}  // namespace

Result<std::unique_ptr<PinnedArena>> PinnedArena::create(size_t bytes, int numa_node) {
  const size_t rounded = round_up(bytes, kLargePage);
  // Asked first: taking the pages of a size that cannot be there would end in the kernel killing someone.
  if (const uint64_t available = available_memory_bytes(); rounded > available)
    return Error{ErrorCode::out_of_memory, "the reserve of page-locked memory is " + describe_bytes(bytes) + "; " +
                                               describe_bytes(available) + " are available"};
  const PreferredNode node(numa_node);
  std::byte* const data = map_aligned(rounded);
  if (data == nullptr)
    return Error{ErrorCode::out_of_memory, "the reserve of page-locked memory, " + describe_bytes(bytes) +
                                               ": mmap failed: " + std::strerror(errno)};
  madvise(data, rounded, MADV_HUGEPAGE);
  // A child's copy-on-write would take pages away from under the device.
  madvise(data, rounded, MADV_DONTFORK);
  populate(data, rounded);
  return std::unique_ptr<PinnedArena>(new PinnedArena(data, rounded));
}

PinnedArena::PinnedArena(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {
  gaps_[0] = bytes;
}

PinnedArena::~PinnedArena() {
  unmap(data_, bytes_);
}

std::byte* PinnedArena::lend(size_t bytes) {
  const size_t wanted = round_up_to_page(bytes);
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap)
    if (gap->second >= wanted && (best == gaps_.end() || gap->second < best->second)) best = gap;
  if (wanted == 0 || best == gaps_.end()) return nullptr;
  const auto [offset, room] = *best;
  lent_[offset] = wanted;
  if (room > wanted) gaps_[offset + wanted] = room - wanted;
  gaps_.erase(best);
  lent_bytes_ += wanted;
  return data_ + offset;
}

bool PinnedArena::take_back(const void* piece) {
  const auto address = reinterpret_cast<uintptr_t>(piece);
  const auto begin = reinterpret_cast<uintptr_t>(data_);
  if (address < begin || address >= begin + bytes_) return false;
  const auto found = lent_.find(address - begin);
  if (found == lent_.end()) return false;
  auto [offset, bytes] = *found;
  lent_.erase(found);
  lent_bytes_ -= bytes;
  const auto after = gaps_.find(offset + bytes);
  if (after != gaps_.end()) {
    bytes += after->second;
    gaps_.erase(after);
  }
  const auto above = gaps_.lower_bound(offset);
  if (above != gaps_.begin()) {
    const auto below = std::prev(above);
    if (below->first + below->second == offset) {
      below->second += bytes;
      return true;
    }
  }
  gaps_[offset] = bytes;
  return true;
}

}  // namespace framelane::cuda
