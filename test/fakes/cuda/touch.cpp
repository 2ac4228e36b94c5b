#include "fakes/cuda/touch.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "fakes/cuda/detectors.h"
#include "fakes/cuda/memory.h"

namespace framelane::fake_cuda {
namespace {

std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, value);
  return text;
}

const Block* block_at(const Allocation& allocation, uint64_t address, uint64_t* begin) {
  auto after = allocation.blocks.upper_bound(address);
  if (after == allocation.blocks.begin()) return nullptr;
  const auto& [block_begin, block] = *std::prev(after);
  if (begin != nullptr) *begin = block_begin;
  return address < block.end ? &block : nullptr;
}

// Where the touch ends; 0 when a part of it lies in memory that nobody was given.
uint64_t given_end(const Allocation& allocation, const Touch& touch) {
  if (!allocation.annotated) {
    const uint64_t end = allocation.begin + allocation.bytes;
    return touch.end == 0 ? end : touch.end <= end ? touch.end : 0;
  }
  uint64_t at = touch.begin;
  do {
    const Block* block = block_at(allocation, at, nullptr);
    if (block == nullptr || !block->given) return 0;
    at = block->end;
  } while (at < touch.end);
  return touch.end == 0 ? at : touch.end;
}

bool is_ordered(const Access& earlier, const Clock& clock) {
  const auto known = clock.find(earlier.lane);
  return known != clock.end() && known->second >= earlier.tick;
}

void check_order(Allocation& allocation, const Access& now, const Clock& clock) {
  for (const Access& earlier : allocation.accesses) {
    if (earlier.end <= now.begin || earlier.begin >= now.end) continue;
    if (earlier.lane == now.lane || !(earlier.write || now.write) || is_ordered(earlier, clock)) continue;
    detect(Detector::stream_race, now.what + " on stream " + std::to_string(now.lane) +
                                      (now.write ? " writes " : " reads ") + hex(now.begin) + ".." + hex(now.end) +
                                      ", which " + earlier.what + " on stream " + std::to_string(earlier.lane) +
                                      (earlier.write ? " writes" : " reads") + ", and no event or wait orders the two");
    break;
  }
  std::erase_if(allocation.accesses, [&](const Access& earlier) {
    const bool covered = earlier.begin >= now.begin && earlier.end <= now.end;
    if (!covered || (earlier.write && !now.write)) return false;
    return earlier.lane == now.lane || is_ordered(earlier, clock) || now.write;
  });
  allocation.accesses.push_back(now);
}

}  // namespace

bool is_device_address(uint64_t address) {
  return (address >> 48) == (kDeviceSpace >> 48);
}

std::shared_ptr<Allocation> allocation_at(uint64_t address) {
  const auto& memory = state().memory;
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  const std::shared_ptr<Allocation>& found = std::prev(after)->second;
  return address < found->begin + found->bytes ? found : nullptr;
}

Extent extent_at(uint64_t address) {
  const std::shared_ptr<Allocation> allocation = allocation_at(address);
  if (!allocation) return {};
  if (!allocation->annotated) return {allocation->begin, allocation->bytes};
  uint64_t begin = 0;
  const Block* block = block_at(*allocation, address, &begin);
  if (block == nullptr || !block->given) return {};
  return {begin, block->end - begin};
}

bool has_its_host_memory(const Work& work) {
  if (work.kind != Work::Kind::copy || !work.pinned) return true;
  for (const Plane* plane : {&work.to, &work.from})
    if (plane->device == 0 && host_memory(plane->host, 1) != HostMemory::pinned) return false;
  return true;
}

void check_touches(const Work& work, uint64_t lane, const Clock& clock) {
  const auto own_tick = clock.find(lane);
  const uint64_t tick = own_tick == clock.end() ? 0 : own_tick->second;
  if (work.module && work.module->unloaded)
    detect(Detector::use_after_free, work.what + " is of a module that was unloaded");
  if (!has_its_host_memory(work))
    detect(Detector::use_after_free, work.what + " with host memory that is no longer pinned");
  for (const Touch& touch : work.touches) {
    const std::shared_ptr<Allocation> allocation = allocation_at(touch.begin);
    const uint64_t end = allocation ? given_end(*allocation, touch) : 0;
    if (end == 0) {
      detect(Detector::use_after_free, work.what + " on stream " + std::to_string(lane) + " touches " +
                                           hex(touch.begin) +
                                           (allocation ? ", a part of an arena that nobody has been given"
                                                       : ", which is freed or was never allocated"));
      continue;
    }
    check_order(*allocation, {touch.begin, end, lane, tick, touch.write, work.what}, clock);
  }
}

}  // namespace framelane::fake_cuda
