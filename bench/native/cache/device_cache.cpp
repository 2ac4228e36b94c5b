// What a block of device memory costs: one pair of asking for it and giving it back, from the service's cache
// (framelane), from the driver's stream-ordered pool (driver-pool: cuMemAllocAsync, cuMemFreeAsync) and from the driver
// itself (driver: cuMemAlloc, cuMemFree), with so many threads at once, each on a stream of its own.
// `framelane bench cache` runs it.
//   bench_device_cache [--threads 1,2,4] [--traces r14,mixed] [--modes A,B] [--seconds S] [--device cuda:0]
//                      [--library FILE|idle]
// --library idle: a driver that does nothing, so that what is measured is the cache alone; it lies beside this program.
// Prints a JSON object on each line: first what it runs on, then the rows.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/gpu.h"
#include "native/cache/rows.h"
#include "native/words.h"

namespace framelane::bench {
namespace {

constexpr unsigned kMostThreads = 256;

std::string idle_library() {
  char self[4096] = {};
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  const std::string file(self, length > 0 ? static_cast<size_t>(length) : 0);
  return file.substr(0, file.rfind('/') + 1) + "libcuda_idle.so";
}

// Thread-safety: a value.
struct Options {
  std::vector<MemoryMode> modes = {MemoryMode::framelane, MemoryMode::driver_pool, MemoryMode::driver};
  std::vector<const Trace*> traces;
  std::vector<size_t> threads = {1, 2, 4, 8, 16, 32, 64};
  double seconds = 0.2;
  std::string device = "cuda:0";
  std::string library = "libcuda.so.1";
  Options() {
    for (const Trace& trace : bench::traces()) traces.push_back(&trace);
  }
};

bool read_modes(const std::string& value, std::vector<MemoryMode>& modes) {
  modes.clear();
  for (const std::string& word : words_of(value)) {
    size_t mode = 0;
    while (mode < std::size(kMemoryModeNames) && word != kMemoryModeNames[mode]) ++mode;
    if (mode == std::size(kMemoryModeNames)) return false;
    modes.push_back(static_cast<MemoryMode>(mode));
  }
  return true;
}

bool read_traces(const std::string& value, std::vector<const Trace*>& chosen) {
  chosen.clear();
  for (const std::string& word : words_of(value)) {
    const auto& all = traces();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Trace& trace) { return trace.name == word; });
    if (found == all.end()) return false;
    chosen.push_back(&*found);
  }
  return true;
}

bool read_threads(const std::string& value, std::vector<size_t>& threads) {
  threads.clear();
  for (const std::string& word : words_of(value)) {
    const int number = std::atoi(word.c_str());
    if (number < 1 || number > static_cast<int>(kMostThreads)) return false;
    threads.push_back(static_cast<size_t>(number));
  }
  return true;
}

bool read_option(const std::string& name, const std::string& value, Options& options) {
  if (name == "--modes") return read_modes(value, options.modes);
  if (name == "--traces") return read_traces(value, options.traces);
  if (name == "--threads") return read_threads(value, options.threads);
  if (name == "--device") return options.device = value, true;
  if (name == "--library") return options.library = value == "idle" ? idle_library() : value, true;
  if (name == "--seconds") return options.seconds = std::atof(value.c_str()), options.seconds > 0;
  return false;
}

// As JSON has it; null where there is none.
std::string number(const char* format, std::optional<double> value) {
  if (!value) return "null";
  char text[64];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

std::string whole(std::optional<uint64_t> value) {
  return value ? std::to_string(*value) : "null";
}

void print_row(const CacheRun& run, const CacheRow& row) {
  const double asked = static_cast<double>(run.trace->peak_bytes) * static_cast<double>(run.threads);
  std::optional<double> waste;
  if (row.reserved_bytes > 0) waste = static_cast<double>(row.reserved_bytes) / asked - 1;
  std::printf("{\"trace\":\"%s\",\"mode\":\"%s\",\"threads\":%zu,\"pair_ns\":%.1f,\"slowest_thread_ns\":%.1f,",
              run.trace->name.c_str(), kMemoryModeNames[size_t(run.mode)], run.threads, row.pair_ns,
              row.slowest_thread_ns);
  std::printf("\"pair_wall_ns\":%.1f,\"pairs\":%llu,\"misses\":%s,\"hit_rate\":%s,\"waste\":%s,\"allocations\":%s}\n",
              row.pair_wall_ns, static_cast<unsigned long long>(row.pairs), whole(row.misses).c_str(),
              number("%.8f", row.hit_rate).c_str(), number("%.4f", waste).c_str(), whole(row.allocations).c_str());
  std::fflush(stdout);
}

// `no_pool`: why there are no rows of the driver's pool.
void print_head(const cuda::Gpu& gpu, const std::optional<std::string>& no_pool) {
  std::printf("{\"gpu\":\"%s\",\"driver\":\"%s\",\"no_pool\":%s}\n", gpu.info.name.c_str(), gpu.info.driver.c_str(),
              no_pool ? ("\"" + *no_pool + "\"").c_str() : "null");
  std::fflush(stdout);
}

Status measure_rows(const Options& options, const cuda::Context& context, const DriverPool* pool) {
  for (const Trace* const trace : options.traces) {
    for (const size_t threads : options.threads) {
      for (const MemoryMode mode : options.modes) {
        if (mode == MemoryMode::driver_pool && pool == nullptr) continue;
        const CacheRun run{mode, trace, threads, static_cast<int64_t>(options.seconds * 1e9)};
        Result<CacheRow> row = measure_row(context, pool, run);
        if (!row) return row.error();
        print_row(run, row.value());
      }
    }
  }
  return {};
}

Status measure(const Options& options) {
  Result<const cuda::Driver*> driver = cuda::Driver::open(options.library);
  if (!driver) return driver.error();
  Result<cuda::Gpu> gpu = cuda::find_gpu(*driver.value(), options.device);
  if (!gpu) return gpu.error();
  Result<std::unique_ptr<cuda::Context>> context = cuda::Context::open(*driver.value(), gpu.value());
  if (!context) return context.error();
  if (Status current = context.value()->make_current(); !current) return current;
  Result<std::unique_ptr<DriverPool>> pool = std::unique_ptr<DriverPool>();
  if (std::count(options.modes.begin(), options.modes.end(), MemoryMode::driver_pool) > 0)
    pool = DriverPool::open(*driver.value(), options.library, gpu.value().handle);
  print_head(gpu.value(), pool ? std::nullopt : std::optional(pool.error().message));
  return measure_rows(options, *context.value(), pool ? pool.value().get() : nullptr);
}

}  // namespace
}  // namespace framelane::bench

int main(int count, char** words) {
  framelane::bench::Options options;
  bool good = count % 2 == 1;
  for (int i = 1; good && i < count; i += 2) good = framelane::bench::read_option(words[i], words[i + 1], options);
  if (!good) {
    std::fprintf(stderr,
                 "usage: %s [--threads 1,2,4] [--traces r14,mixed] [--modes framelane,driver-pool,driver]\n"
                 "    [--seconds S] [--device cuda:0] [--library FILE|idle]\n",
                 words[0]);
    return 64;
  }
  if (framelane::Status measured = framelane::bench::measure(options); !measured) {
    std::fprintf(stderr, "bench_device_cache: %s\n", measured.error().message.c_str());
    return 1;
  }
  return 0;
}
