#include "native/cache/rows.h"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <ctime>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "core/frame.h"
#include "cuda/device_cache.h"
#include "native/cache/memories.h"

namespace {
thread_local uint64_t allocations_of_this_thread = 0;
}

void* operator new(std::size_t bytes) {
  ++allocations_of_this_thread;
  if (void* const memory = std::malloc(bytes)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace framelane::bench {
namespace {

constexpr int64_t kLeastBatchNs = 1'000'000;

int64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Thread-safety: its thread's, until that has ended.
struct Measured {
  uint64_t steps = 0;  // two make a pair
  int64_t cpu_ns = 0, wall_ns = 0;
  uint64_t allocations = 0;
  Status status;
};

// A trace on one thread's memory. Thread-safety: one thread's.
template <typename Memory>
class Replay {
 public:
  Replay(const Trace& trace, Memory& memory) : trace_(trace), memory_(memory), blocks_(trace.blocks) {}

  // Steps of the trace, from `begin` to before `end`.
  [[nodiscard]] bool play(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Step& step = trace_.steps[i];
      cuda::CUdeviceptr& block = blocks_[step.block];
      if (!(step.bytes != 0 ? memory_.allocate(step.bytes, block) : memory_.release(std::exchange(block, 0))))
        return false;
    }
    return true;
  }

  // Whole traces for about so long; how many steps that were. 0: it failed.
  [[nodiscard]] uint64_t play_for(int64_t duration_ns) {
    const MonotonicNs begin = monotonic_now_ns();
    uint64_t played = 0, batch = 1;
    for (MonotonicNs now = begin, last = begin; now - begin < duration_ns; last = now) {
      for (uint64_t i = 0; i < batch; ++i)
        if (!play(0, trace_.steps.size())) return 0;
      played += batch;
      now = monotonic_now_ns();
      if (now - last < kLeastBatchNs) batch *= 2;
    }
    return played * trace_.steps.size();
  }

  // The same, but it ends within the trace. drop() gives back what is then in use.
  [[nodiscard]] uint64_t play_steps_for(int64_t duration_ns) {
    const MonotonicNs begin = monotonic_now_ns();
    uint64_t played = 0;
    do {
      const size_t at = played % trace_.steps.size();
      if (!play(at, at + 1)) return 0;
      ++played;
    } while (monotonic_now_ns() - begin < duration_ns);
    return played;
  }
  [[nodiscard]] bool drop() {
    bool released = true;
    for (cuda::CUdeviceptr& block : blocks_)
      if (block != 0) released = memory_.release(std::exchange(block, 0)) && released;
    return released;
  }

 private:
  const Trace& trace_;
  Memory& memory_;
  std::vector<cuda::CUdeviceptr> blocks_;
};

// Once through the trace, all threads together where it has the most in use; then the measurement.
template <typename Memory>
Status measure_thread(Memory memory, const CacheRun& run, std::barrier<>& together, Measured& measured) {
  const Trace& trace = *run.trace;
  Replay<Memory> replay(trace, memory);
  bool good = replay.play(0, trace.peak_step);
  together.arrive_and_wait();
  good = good && replay.play(trace.peak_step, trace.steps.size());
  together.arrive_and_wait();
  if (!good) return memory.failure;
  const uint64_t allocations = allocations_of_this_thread;
  const int64_t cpu = cpu_ns();
  const MonotonicNs wall = monotonic_now_ns();
  measured.steps = Memory::kSlow ? replay.play_steps_for(run.duration_ns) : replay.play_for(run.duration_ns);
  measured.wall_ns = monotonic_now_ns() - wall;
  measured.cpu_ns = cpu_ns() - cpu;
  measured.allocations = allocations_of_this_thread - allocations;
  return measured.steps > 0 && replay.drop() ? Status() : memory.failure;
}

// Thread-safety: made by one thread, read by the others.
struct Place {
  const cuda::Context& context;
  cuda::DeviceCache* cache;
  const DriverPool* pool;
};

Status run_thread(const Place& place, const CacheRun& run, std::barrier<>& together, Measured& measured) {
  const cuda::Driver& driver = place.context.driver();
  Result<cuda::Stream> stream = Error{};
  Result<std::unique_ptr<cuda::StreamCache>> cache = std::unique_ptr<cuda::StreamCache>();
  Status ready = place.context.make_current();
  if (ready && !(stream = cuda::make_stream(driver))) ready = stream.error();
  if (ready && run.mode == MemoryMode::framelane && !(cache = place.cache->open_stream(stream.value().get(), "bench")))
    ready = cache.error();
  if (!ready) return together.arrive_and_drop(), ready;
  Status status;
  if (run.mode == MemoryMode::framelane)
    status = measure_thread(CachedMemory{*cache.value()}, run, together, measured);
  else if (run.mode == MemoryMode::driver_pool)
    status = measure_thread(PooledMemory{driver, *place.pool, stream.value().get()}, run, together, measured);
  else
    status = measure_thread(DriverMemory(driver), run, together, measured);
  driver.cuStreamSynchronize(stream.value().get());  // what was given back in its order is back
  return status;
}

Result<CacheRow> row_of(const std::vector<Measured>& measured) {
  CacheRow row;
  uint64_t steps = 0;
  int64_t cpu = 0, wall = 0;
  for (const Measured& one : measured) {
    if (!one.status) return one.status.error();
    steps += one.steps;
    cpu += one.cpu_ns;
    wall += one.wall_ns;
    row.slowest_thread_ns =
        std::max(row.slowest_thread_ns, 2 * static_cast<double>(one.cpu_ns) / static_cast<double>(one.steps));
  }
  row.pair_ns = 2 * static_cast<double>(cpu) / static_cast<double>(steps);
  row.pair_wall_ns = 2 * static_cast<double>(wall) / static_cast<double>(steps);
  row.pairs = steps / 2;
  return row;
}

void add_statistics(const cuda::DeviceCacheStatistics& seen, const std::vector<Measured>& measured, CacheRow& row) {
  row.reserved_bytes = seen.bytes_reserved;
  row.misses = seen.misses;
  row.hit_rate = static_cast<double>(seen.hits) / static_cast<double>(seen.hits + seen.misses);
  row.allocations = 0;
  for (const Measured& one : measured) *row.allocations += one.allocations;
}

}  // namespace

Result<CacheRow> measure_row(const cuda::Context& context, const DriverPool* pool, const CacheRun& run) {
  std::unique_ptr<cuda::DeviceCache> cache;
  if (run.mode == MemoryMode::framelane) {
    Result<std::unique_ptr<cuda::DeviceCache>> opened = cuda::DeviceCache::open(context.driver(), context.handle(), {});
    if (!opened) return opened.error();
    cache = opened.take();
  } else if (run.mode == MemoryMode::driver_pool) {
    if (Status emptied = pool->empty(); !emptied) return emptied.error();
  }
  const Place place{context, cache.get(), pool};
  std::vector<Measured> measured(run.threads);
  std::barrier<> together(static_cast<std::ptrdiff_t>(run.threads));
  std::vector<std::thread> threads;
  for (Measured& one : measured)
    threads.emplace_back([&, &mine = one] { mine.status = run_thread(place, run, together, mine); });
  for (std::thread& thread : threads) thread.join();
  Result<CacheRow> row = row_of(measured);
  if (row && cache != nullptr) add_statistics(cache->statistics(), measured, row.value());
  if (row && run.mode == MemoryMode::driver_pool) row.value().reserved_bytes = pool->reserved_high_bytes();
  return row;
}

}  // namespace framelane::bench
