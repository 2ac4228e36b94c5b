// The arena that blocks are cut from: a few large pieces of device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/frame.h"
#include "cuda/driver_types.h"

namespace framelane::cuda {

inline constexpr size_t kDriverPage = size_t{2} << 20;  // the driver gives no less

// Makes no driver call: who owns it gets the chunks from the driver and gives them back.
// Thread-safety: under the mutex of the device's cache.
class DeviceMemory {
 public:
  struct Chunk {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    bool reserve = false;  // kept although nothing of it is used
  };

  void add_chunk(const Chunk& chunk, MonotonicNs now);
  // A chunk that nothing has been cut from since `before`; it is no longer the arena's.
  [[nodiscard]] std::optional<Chunk> take_unused_chunk(MonotonicNs before, bool reserve_too);
  [[nodiscard]] std::vector<Chunk> take_all_chunks();

  // The best fit in the oldest chunk that has one; 0: no room. `bytes` is a multiple of kBlockAlignment.
  [[nodiscard]] CUdeviceptr cut(size_t bytes);
  // Joins it with the free neighbours.
  void join(CUdeviceptr address, size_t bytes, MonotonicNs now);

  [[nodiscard]] size_t largest_free() const noexcept;
  [[nodiscard]] uint64_t chunk_bytes() const noexcept { return chunk_bytes_; }

 private:
  // Thread-safety: as the whole.
  struct Extent {
    Chunk chunk;
    MonotonicNs unused_since = 0;
    size_t used_bytes = 0;
    std::map<CUdeviceptr, size_t> by_address;
    std::set<std::pair<size_t, CUdeviceptr>> by_size;

    void add(CUdeviceptr address, size_t bytes);
    std::map<CUdeviceptr, size_t>::iterator remove(std::map<CUdeviceptr, size_t>::iterator at);
  };

  std::vector<Extent> extents_;  // oldest first
  uint64_t chunk_bytes_ = 0;
};

}  // namespace framelane::cuda
