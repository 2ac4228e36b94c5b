// From a producer process to the worker: stage `wait` of a channel whose ring another process fills, measured from the
// moment at which the producer hands a frame over to the start of its pipeline.
//   bench_shm_latency [--fps F] [--seconds S]
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "core/histogram.h"
#include "framelane/shm_ring.h"
#include "halide/cpu_device.h"
#include "io/make.h"
#include "native/channel_rig.h"
#include "native/workloads.h"

namespace framelane::bench {
namespace {

constexpr int kConnectMs = 60'000;

struct Options {
  double fps = 100;
  double seconds = 10;
};

void sleep_until(MonotonicNs time_ns) {
  const timespec until{time_ns / 1'000'000'000, time_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

uint64_t frames_of(const Options& options) {
  return static_cast<uint64_t>(options.fps * options.seconds);
}

// The other process: a frame at each tick, as a grabber delivers them.
int produce(const std::string& path, const FrameFormat& format, const Options& options) {
  framelane_shm_producer producer;
  if (framelane_shm_open(&producer, path.c_str(), "mono8", format.width, format.height, options.fps, "bench",
                         kConnectMs) != 0) {
    std::fprintf(stderr, "bench_shm_latency: %s\n", producer.connection.error);
    return 1;
  }
  const uint64_t frames = frames_of(options);
  const auto period_ns = static_cast<int64_t>(1e9 / options.fps);
  int failed = 0;
  MonotonicNs tick = monotonic_now_ns();
  for (uint64_t i = 0; i < frames && failed == 0; ++i) {
    framelane_shm_frame frame;
    failed = framelane_shm_acquire(&producer, 1000, &frame);
    if (failed != 0) break;
    std::memset(frame.data, static_cast<int>(i), frame.bytes);
    sleep_until(tick += period_ns);
    failed = framelane_shm_submit(&producer, &frame);
  }
  framelane_shm_close(&producer);
  return failed == 0 ? 0 : 1;
}

Result<ChannelSpec> make_spec(const Workload& workload, const std::string& path) {
  Result<SinkSpec> sink = io::make_sink("memory", {});
  if (!sink) return sink.error();
  ChannelSpec spec;
  spec.name = "shm";
  spec.make_source = [path] { return io::make_source("shm", {{"path", path}}); };
  spec.pipeline = workload.pipeline;
  spec.sinks = {sink.take()};
  return spec;
}

Status consume(const Workload& workload, const std::string& path, pid_t producer, const Options& options) {
  Result<StatsFile> stats = StatsFile::create();
  if (!stats) return stats.error();
  Result<ChannelSpec> spec = make_spec(workload, path);
  if (!spec) return spec.error();
  const std::unique_ptr<Device> device = halide::make_cpu_device();
  stats::ChannelBlock& block = *stats.value().block->channel(0);
  CompileService compile(1);
  StateWatch watch;
  const Channel channel(spec.take(), *device, compile, block, watch);
  int status = 0;
  if (waitpid(producer, &status, 0) < 0 || status != 0) return Error{ErrorCode::source_lost, "the producer failed"};
  const auto lost = [&] {
    const stats::SourceGroup& source = block.source;
    return source.lost_id_gap.load() + source.lost_ring_full.load() + source.dropped_overwritten.load();
  };
  // The last frame may still be on its way.
  const MonotonicNs give_up_ns = monotonic_now_ns() + 5'000'000'000;
  while (block.worker.processed.load() + lost() < frames_of(options) && monotonic_now_ns() < give_up_ns) {
    sleep_until(monotonic_now_ns() + 1'000'000);
  }
  const stats::Histogram& wait = block.stages[static_cast<size_t>(stats::Stage::wait)];
  const auto at_us = [&](double quantile) { return static_cast<double>(stats::quantile_ns(wait, quantile)) / 1e3; };
  std::printf(
      "{\"workload\":\"%s\",\"fps\":%g,\"frames\":%llu,\"lost\":%llu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,"
      "\"max_us\":%.1f}\n",
      workload.name.c_str(), options.fps, static_cast<unsigned long long>(wait.count.load()),
      static_cast<unsigned long long>(lost()), at_us(0.5), at_us(0.99), at_us(0.999),
      static_cast<double>(wait.max_ns.load()) / 1e3);
  return {};
}

int main_of(const Options& options) {
  const Workload workload = *find_workload("gain");
  std::string directory = (std::filesystem::temp_directory_path() / "framelane-bench-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return 1;
  const std::string path = directory + "/ring.sock";
  const pid_t producer = fork();  // before there is any thread
  if (producer == 0) _exit(produce(path, workload.format, options));
  const Status measured =
      producer < 0 ? Status(Error{ErrorCode::io_failed, "fork failed"}) : consume(workload, path, producer, options);
  std::filesystem::remove_all(directory);
  if (!measured) std::fprintf(stderr, "bench_shm_latency: %s\n", measured.error().message.c_str());
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace framelane::bench

int main(int count, char** words) {
  framelane::bench::Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(words[i], "--fps") == 0) options.fps = std::atof(words[i + 1]);
    if (std::strcmp(words[i], "--seconds") == 0) options.seconds = std::atof(words[i + 1]);
  }
  if (count % 2 == 0 || options.fps <= 0 || options.seconds <= 0) {
    std::fprintf(stderr, "usage: %s [--fps F] [--seconds S]\n", words[0]);
    return 64;
  }
  return framelane::bench::main_of(options);
}
