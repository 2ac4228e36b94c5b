#include "cuda/device_memory.h"

#include <algorithm>
#include <iterator>

namespace framelane::cuda {

void DeviceMemory::Extent::add(CUdeviceptr address, size_t bytes) {
  by_address.emplace(address, bytes);
  by_size.emplace(bytes, address);
}

std::map<CUdeviceptr, size_t>::iterator DeviceMemory::Extent::remove(std::map<CUdeviceptr, size_t>::iterator at) {
  by_size.erase({at->second, at->first});
  return by_address.erase(at);
}

void DeviceMemory::add_chunk(const Chunk& chunk, MonotonicNs now) {
  Extent& extent = extents_.emplace_back();
  extent.chunk = chunk;
  extent.unused_since = now;
  extent.add(chunk.address, chunk.bytes);
  chunk_bytes_ += chunk.bytes;
}

std::optional<DeviceMemory::Chunk> DeviceMemory::take_unused_chunk(MonotonicNs before, bool reserve_too) {
  for (auto at = extents_.rbegin(); at != extents_.rend(); ++at) {
    if (at->used_bytes > 0 || at->unused_since > before || (at->chunk.reserve && !reserve_too)) continue;
    const Chunk chunk = at->chunk;
    chunk_bytes_ -= chunk.bytes;
    extents_.erase(std::next(at).base());
    return chunk;
  }
  return std::nullopt;
}

std::vector<DeviceMemory::Chunk> DeviceMemory::take_all_chunks() {
  std::vector<Chunk> all;
  for (const Extent& extent : extents_) all.push_back(extent.chunk);
  extents_.clear();
  chunk_bytes_ = 0;
  return all;
}

CUdeviceptr DeviceMemory::cut(size_t bytes) {
  for (Extent& extent : extents_) {
    const auto fit = extent.by_size.lower_bound({bytes, 0});
    if (fit == extent.by_size.end()) continue;
    const auto [found, address] = *fit;
    extent.remove(extent.by_address.find(address));
    if (found > bytes) extent.add(address + bytes, found - bytes);
    extent.used_bytes += bytes;
    return address;
  }
  return 0;
}

void DeviceMemory::join(CUdeviceptr address, size_t bytes, MonotonicNs now) {
  const auto extent = std::find_if(extents_.begin(), extents_.end(), [&](const Extent& candidate) {
    return address >= candidate.chunk.address && address < candidate.chunk.address + candidate.chunk.bytes;
  });
  extent->used_bytes -= bytes;
  if (extent->used_bytes == 0) extent->unused_since = now;
  auto next = extent->by_address.lower_bound(address);
  if (next != extent->by_address.end() && next->first == address + bytes) {
    bytes += next->second;
    next = extent->remove(next);
  }
  if (next != extent->by_address.begin()) {
    if (const auto before = std::prev(next); before->first + before->second == address) {
      address = before->first;
      bytes += before->second;
      extent->remove(before);
    }
  }
  extent->add(address, bytes);
}

size_t DeviceMemory::largest_free() const noexcept {
  size_t largest = 0;
  for (const Extent& extent : extents_) {
    if (!extent.by_size.empty()) largest = std::max(largest, extent.by_size.rbegin()->first);
  }
  return largest;
}

}  // namespace framelane::cuda
