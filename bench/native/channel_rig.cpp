#include "native/channel_rig.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "io/make.h"

namespace framelane::bench {
namespace {

// Caches, branch predictors and the pool's threads are warm after so many frames.
constexpr uint64_t kWarmUpFrames = 20;

void sleep_ns(int64_t duration_ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(duration_ns));
}

}  // namespace

void StateWatch::on_event(Event event) noexcept {
  const std::lock_guard lock(mutex_);
  last_ = std::move(event);
  changed_.notify_all();
}

Status StateWatch::await_running() {
  std::unique_lock lock(mutex_);
  Status failure;
  changed_.wait(lock, [&] {
    const bool failed = last_.state == ChannelState::backoff || last_.state == ChannelState::faulted;
    if (failed) failure = Error{last_.code, last_.message};
    return failed || last_.state == ChannelState::running;
  });
  last_.state = ChannelState::idle;
  return failure;
}

Result<StatsFile> StatsFile::create() {
  std::string path = (std::filesystem::temp_directory_path() / "framelane-bench-XXXXXX").string();
  const int fd = mkstemp(path.data());
  if (fd < 0) return Error{ErrorCode::io_failed, "cannot make a file in " + path};
  close(fd);
  std::filesystem::remove(path);
  auto block = stats::StatsBlock::create(path, 1, 1);
  std::filesystem::remove(path);
  if (!block) return block.error();
  return StatsFile{block.take()};
}

Result<std::unique_ptr<ChannelRig>> ChannelRig::create(const Workload& workload, uint32_t threads, Device& device) {
  Result<StatsFile> stats = StatsFile::create();
  if (!stats) return stats.error();
  Result<SinkSpec> sink = io::make_sink("memory", {});
  if (!sink) return sink.error();
  io::Fields pattern{{"width", static_cast<double>(workload.format.width)},
                     {"height", static_cast<double>(workload.format.height)},
                     {"format", std::string(info(workload.format.pixel).name)},
                     {"fps", 30.0},
                     {"pattern", std::string("noise")},
                     {"pace", std::string("max")}};
  ChannelSpec spec;
  spec.name = workload.name;
  spec.make_source = [pattern = std::move(pattern)] { return io::make_source("pattern", pattern); };
  spec.slots = kSlots;
  spec.pipeline = workload.pipeline;
  spec.sinks = {sink.take()};
  spec.threads = threads;
  spec.start = false;
  std::unique_ptr<ChannelRig> rig(new ChannelRig(stats.take()));
  rig->channel_ = std::make_unique<Channel>(std::move(spec), device, rig->compile_, rig->block_, rig->watch_);
  return rig;
}

ChannelRig::~ChannelRig() = default;

ChannelRig::Progress ChannelRig::progress() const noexcept {
  const stats::WorkerGroup& worker = block_.worker;
  for (;;) {
    const uint64_t sequence = worker.sequence.load(std::memory_order_acquire);
    const Progress found{worker.processed.load(std::memory_order_acquire),
                         static_cast<MonotonicNs>(worker.last_processed_ns.load(std::memory_order_acquire))};
    if (sequence % 2 == 0 && sequence == worker.sequence.load(std::memory_order_acquire)) return found;
  }
}

Result<double> ChannelRig::run(int64_t duration_ns) {
  const uint64_t before = progress().processed;
  channel_->start();
  if (Status running = watch_.await_running(); !running) return running.error();
  while (progress().processed < before + kWarmUpFrames) sleep_ns(1'000'000);
  const Progress first = progress();
  sleep_ns(duration_ns);
  const Progress last = progress();
  channel_->stop();
  channel_->join();
  return static_cast<double>(last.processed - first.processed) * 1e9 /
         static_cast<double>(last.last_ns - first.last_ns);
}

}  // namespace framelane::bench
