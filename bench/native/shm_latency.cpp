// From a producer process to the worker: stage `wait` of a channel whose ring another process fills, measured from the
// moment at which the producer hands a frame over to the start of its pipeline.
//   bench_shm_latency [--fps F] [--wait blocking|spin] [--seconds S] [--settle S]
// Prints one JSON object for each rate and each way to wait. --seconds is the length of each, after --settle.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "core/histogram.h"
#include "framelane/shm_ring.h"
#include "halide/cpu_device.h"
#include "io/make.h"
#include "native/channel_rig.h"
#include "native/workloads.h"

namespace framelane::bench {
namespace {

constexpr int kConnectMs = 60'000;
constexpr int64_t kFirstFrameNs = 60'000'000'000;
constexpr int64_t kLastFrameNs = 5'000'000'000;
constexpr int64_t kLookNs = 1'000'000;

struct Run {
  Wait wait = Wait::blocking;
  double fps = 0;
  double seconds = 0;
  double settle_seconds = 0;  // in which a spinning worker learns the source's period and how late timers wake it
};

const char* name_of(Wait wait) {
  return wait == Wait::spin ? "spin" : "blocking";
}

// CPU time of this process, which is the engine's.
int64_t cpu_ns() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

void sleep_until(MonotonicNs time_ns) {
  const timespec until{time_ns / 1'000'000'000, time_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

// A virtual machine's timer wakes up late by up to milliseconds; a grabber's clock is not like that.
void wait_exactly_until(MonotonicNs time_ns) {
  constexpr int64_t kTimerLateNs = 3'000'000;
  sleep_until(time_ns - kTimerLateNs);
  while (monotonic_now_ns() < time_ns) {
  }
}

uint64_t frames_of(const Run& run) {
  return static_cast<uint64_t>(run.fps * (run.settle_seconds + run.seconds));
}

// What `later` has recorded beyond `earlier`; the largest is that of all.
void subtract(const stats::Histogram& later, const stats::Histogram& earlier, stats::Histogram& difference) {
  uint64_t count = 0;
  for (size_t bin = 0; bin < stats::kHistogramBins; ++bin) {
    const uint64_t recorded = later.bins[bin].load() - earlier.bins[bin].load();
    difference.bins[bin].store(recorded);
    if (recorded > 0) difference.max_ns.store(static_cast<uint64_t>(stats::bin_start_ns(bin)));
    count += recorded;
  }
  difference.count.store(count);
}

// The other process: a frame at each tick, as a grabber delivers them.
int produce(const std::string& path, const FrameFormat& format, const Run& run) {
  framelane_shm_producer producer;
  if (framelane_shm_open(&producer, path.c_str(), "mono8", format.width, format.height, run.fps, "bench", kConnectMs) !=
      0) {
    std::fprintf(stderr, "bench_shm_latency: %s\n", producer.connection.error);
    return 1;
  }
  const uint64_t frames = frames_of(run);
  const auto period_ns = static_cast<int64_t>(1e9 / run.fps);
  int failed = 0;
  MonotonicNs tick = monotonic_now_ns();
  for (uint64_t i = 0; i < frames && failed == 0; ++i) {
    framelane_shm_frame frame;
    failed = framelane_shm_acquire(&producer, 1000, &frame);
    if (failed != 0) break;
    std::memset(frame.data, static_cast<int>(i), frame.bytes);
    wait_exactly_until(tick += period_ns);
    failed = framelane_shm_submit(&producer, &frame);
  }
  framelane_shm_close(&producer);
  return failed == 0 ? 0 : 1;
}

Result<ChannelSpec> make_spec(const Workload& workload, const std::string& path, Wait wait) {
  Result<SinkSpec> sink = io::make_sink("memory", {});
  if (!sink) return sink.error();
  ChannelSpec spec;
  spec.name = "shm";
  spec.make_source = [path] { return io::make_source("shm", {{"path", path}}); };
  spec.pipeline = workload.pipeline;
  spec.sinks = {sink.take()};
  spec.wait = wait;
  return spec;
}

Status consume(const Workload& workload, const std::string& path, pid_t producer, const Run& run) {
  Result<StatsFile> stats = StatsFile::create();
  if (!stats) return stats.error();
  Result<ChannelSpec> spec = make_spec(workload, path, run.wait);
  if (!spec) return spec.error();
  const std::unique_ptr<Device> device = halide::make_cpu_device();
  stats::ChannelBlock& block = *stats.value().block->channel(0);
  CompileService compile(1);
  StateWatch watch;
  MonotonicNs give_up_ns = monotonic_now_ns() + kFirstFrameNs;
  const Channel channel(spec.take(), *device, compile, block, watch);
  while (block.worker.processed.load() == 0 && monotonic_now_ns() < give_up_ns)
    sleep_until(monotonic_now_ns() + kLookNs);
  sleep_until(monotonic_now_ns() + static_cast<int64_t>(run.settle_seconds * 1e9));
  const stats::Histogram& all = block.stages[static_cast<size_t>(stats::Stage::wait)];
  const auto nothing = std::make_unique<stats::Histogram>(), settling = std::make_unique<stats::Histogram>(),
             wait = std::make_unique<stats::Histogram>();
  if (run.settle_seconds > 0) subtract(all, *nothing, *settling);
  const MonotonicNs begin_ns = monotonic_now_ns();
  const int64_t begin_cpu_ns = cpu_ns();
  int status = 0;
  if (waitpid(producer, &status, 0) < 0 || status != 0) return Error{ErrorCode::source_lost, "the producer failed"};
  const auto lost = [&] {
    const stats::SourceGroup& source = block.source;
    return source.lost_id_gap.load() + source.lost_ring_full.load() + source.dropped_overwritten.load();
  };
  const double cores =
      static_cast<double>(cpu_ns() - begin_cpu_ns) / static_cast<double>(monotonic_now_ns() - begin_ns);
  // The last frame may still be on its way.
  give_up_ns = monotonic_now_ns() + kLastFrameNs;
  while (block.worker.processed.load() + lost() < frames_of(run) && monotonic_now_ns() < give_up_ns) {
    sleep_until(monotonic_now_ns() + kLookNs);
  }
  subtract(all, *settling, *wait);
  const auto at_us = [&](double quantile) { return static_cast<double>(stats::quantile_ns(*wait, quantile)) / 1e3; };
  std::printf(
      "{\"workload\":\"%s\",\"fps\":%g,\"wait\":\"%s\",\"frames\":%llu,\"lost\":%llu,\"p50_us\":%.1f,\"p99_us\":%.1f,"
      "\"p999_us\":%.1f,"
      "\"max_us\":%.1f,\"engine_cores\":%.3f}\n",
      workload.name.c_str(), run.fps, name_of(run.wait), static_cast<unsigned long long>(wait->count.load()),
      static_cast<unsigned long long>(lost()), at_us(0.5), at_us(0.99), at_us(0.999),
      static_cast<double>(wait->max_ns.load()) / 1e3, cores);
  std::fflush(stdout);
  return {};
}

Status measure(const Workload& workload, const Run& run) {
  std::string directory = (std::filesystem::temp_directory_path() / "framelane-bench-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return Error{ErrorCode::io_failed, "cannot make a folder in " + directory};
  const std::string path = directory + "/ring.sock";
  const pid_t producer = fork();  // the threads of the run before are gone
  if (producer == 0) _exit(produce(path, workload.format, run));
  const Status measured =
      producer < 0 ? Status(Error{ErrorCode::io_failed, "fork failed"}) : consume(workload, path, producer, run);
  std::filesystem::remove_all(directory);
  return measured;
}

struct Options {
  std::vector<double> rates{100, 30};
  std::vector<Wait> waits{Wait::blocking, Wait::spin};
  double seconds = 10;
  double settle_seconds = 3;
};

bool read_options(int count, char** words, Options& options) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    const std::string value = words[i + 1];
    if (name == "--fps") {
      options.rates = {std::atof(value.c_str())};
    } else if (name == "--seconds") {
      options.seconds = std::atof(value.c_str());
    } else if (name == "--settle") {
      options.settle_seconds = std::atof(value.c_str());
    } else if (name == "--wait" && (value == "blocking" || value == "spin")) {
      options.waits = {value == "spin" ? Wait::spin : Wait::blocking};
    } else {
      return false;
    }
  }
  return count % 2 == 1 && options.rates.front() > 0 && options.seconds > 0;
}

int main_of(const Options& options) {
  const Workload workload = *find_workload("gain");
  for (const double fps : options.rates) {
    for (const Wait wait : options.waits) {
      if (Status measured = measure(workload, {wait, fps, options.seconds, options.settle_seconds}); !measured) {
        std::fprintf(stderr, "bench_shm_latency: %s\n", measured.error().message.c_str());
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace framelane::bench

int main(int count, char** words) {
  framelane::bench::Options options;
  if (!framelane::bench::read_options(count, words, options)) {
    std::fprintf(stderr, "usage: %s [--fps F] [--wait blocking|spin] [--seconds S] [--settle S]\n", words[0]);
    return 64;
  }
  return framelane::bench::main_of(options);
}
