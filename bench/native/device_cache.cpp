// What a block of device memory costs its stream: one allocate() and one release() that the stream's own lists serve,
// in CPU time of the thread, with so many threads at once; and how often the thread asked for host memory. On a driver
// that does nothing, or on FRAMELANE_CUDA_LIBRARY.
//   bench_device_cache [--threads N] [--seconds S]
// Without --threads: 1, 2, 4, .. 64.
#include "cuda/device_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cuda/stream_cache.h"

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

using cuda::CUDA_SUCCESS;

// The intermediates of local_contrast with 3 levels on 2904x1111 pixels, float32: three full ones, then halves.
constexpr size_t kFull = size_t{2904} * 1111 * 4;
constexpr size_t kSizes[] = {kFull,      kFull / 2,  kFull / 4,  kFull / 8, kFull / 16, kFull / 32, kFull / 64,
                             kFull / 32, kFull / 16, kFull / 16, kFull / 4, kFull / 4,  kFull,      kFull};
constexpr size_t kBlocks = std::size(kSizes);

int64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string default_library() {
  char self[4096] = {};
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  const std::string file(self, length > 0 ? static_cast<size_t>(length) : 0);
  return file.substr(0, file.rfind('/') + 1) + "libcuda_idle.so";
}

struct Measured {
  uint64_t pairs = 0;
  int64_t ns = 0;
  uint64_t allocations = 0;  // on the host
  bool failed = false;
};

bool run_frame(cuda::StreamCache& memory) {
  cuda::CUdeviceptr blocks[kBlocks];
  for (size_t i = 0; i < kBlocks; ++i) {
    const Result<cuda::CUdeviceptr> block = memory.allocate(kSizes[i]);
    if (!block) return false;
    blocks[i] = block.value();
  }
  bool released = true;
  for (const cuda::CUdeviceptr block : blocks) released = memory.release(block).ok() && released;
  return released;
}

void run_thread(const cuda::Driver& driver, cuda::CUcontext context, cuda::DeviceCache& cache, int64_t duration_ns,
                Measured& measured) {
  measured.failed = true;
  cuda::CUstream stream = nullptr;
  if (driver.cuCtxSetCurrent(context) != CUDA_SUCCESS) return;
  if (driver.cuStreamCreateWithPriority(&stream, cuda::CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return;
  {
    Result<std::unique_ptr<cuda::StreamCache>> memory = cache.open_stream(stream, "bench");
    if (!memory || !run_frame(*memory.value())) return;
    const uint64_t allocations = allocations_of_this_thread;
    const int64_t begin = cpu_ns();
    while (measured.ns < duration_ns) {
      for (int frame = 0; frame < 1000; ++frame) {
        if (!run_frame(*memory.value())) return;
      }
      measured.pairs += 1000 * kBlocks;
      measured.ns = cpu_ns() - begin;
    }
    measured.allocations = allocations_of_this_thread - allocations;
  }
  measured.failed = driver.cuStreamDestroy(stream) != CUDA_SUCCESS;
}

Status measure(const cuda::Driver& driver, cuda::CUcontext context, size_t count, int64_t duration_ns) {
  Result<std::unique_ptr<cuda::DeviceCache>> cache = cuda::DeviceCache::open(driver, context, {});
  if (!cache) return cache.error();
  std::vector<Measured> measured(count);
  std::vector<std::thread> threads;
  for (Measured& one : measured)
    threads.emplace_back([&] { run_thread(driver, context, *cache.value(), duration_ns, one); });
  for (std::thread& thread : threads) thread.join();
  Measured all;
  double slowest = 0;
  for (const Measured& one : measured) {
    if (one.failed) return Error{ErrorCode::out_of_memory, "a thread got no memory"};
    all.pairs += one.pairs;
    all.ns += one.ns;
    all.allocations += one.allocations;
    slowest = std::max(slowest, static_cast<double>(one.ns) / static_cast<double>(one.pairs));
  }
  const cuda::DeviceCacheStatistics seen = cache.value()->statistics();
  std::printf(
      "{\"threads\":%zu,\"pair_ns\":%.1f,\"slowest_thread_ns\":%.1f,\"pairs\":%llu,\"misses\":%llu,\"allocations\":%"
      "llu}\n",
      count, static_cast<double>(all.ns) / static_cast<double>(all.pairs), slowest,
      static_cast<unsigned long long>(all.pairs), static_cast<unsigned long long>(seen.misses),
      static_cast<unsigned long long>(all.allocations));
  return {};
}

int main_of(size_t only, double seconds) {
  const char* const named = std::getenv("FRAMELANE_CUDA_LIBRARY");
  Result<const cuda::Driver*> opened = cuda::Driver::open(named != nullptr ? named : default_library());
  Status status = opened ? Status() : Status(opened.error());
  cuda::CUcontext context = nullptr;
  if (status) {
    const cuda::Driver& driver = *opened.value();
    if (const cuda::CUresult result = driver.cuDevicePrimaryCtxRetain(&context, 0); result != CUDA_SUCCESS)
      status = driver.error("cuDevicePrimaryCtxRetain", result);
    else if (const cuda::CUresult current = driver.cuCtxSetCurrent(context); current != CUDA_SUCCESS)
      status = driver.error("cuCtxSetCurrent", current);
    for (size_t count = only == 0 ? 1 : only; status && count <= (only == 0 ? 64 : only); count *= 2)
      status = measure(driver, context, count, static_cast<int64_t>(seconds * 1e9));
  }
  if (!status) std::fprintf(stderr, "bench_device_cache: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}

}  // namespace
}  // namespace framelane::bench

int main(int count, char** words) {
  long threads = 0;
  double seconds = 0.2;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(words[i], "--threads") == 0) threads = std::atol(words[i + 1]);
    if (std::strcmp(words[i], "--seconds") == 0) seconds = std::atof(words[i + 1]);
  }
  if (count % 2 == 0 || threads < 0 || seconds <= 0) {
    std::fprintf(stderr, "usage: %s [--threads N] [--seconds S]\n", words[0]);
    return 64;
  }
  return framelane::bench::main_of(static_cast<size_t>(threads), seconds);
}
