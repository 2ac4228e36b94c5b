#include "native/stock/channels.h"

#include <time.h>

#include <algorithm>
#include <barrier>
#include <thread>

namespace framelane::bench {
namespace {

constexpr uint64_t kCompareEvery = 100;
constexpr uint64_t kCompareApart = 37;   // of neighbours: not all channels compare at once
constexpr int64_t kStartNs = 2'000'000;  // until every thread has been told

int64_t cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Thread-safety: a value.
struct Moment {
  explicit Moment(const cuda::Driver& driver)
      : time(monotonic_now_ns()),
        cpu(cpu_ns()),
        calls{driver.calls(cuda::CallKind::alloc), driver.calls(cuda::CallKind::free),
              driver.calls(cuda::CallKind::module_load), driver.calls(cuda::CallKind::device_sync),
              driver.calls(cuda::CallKind::launch)} {}
  MonotonicNs time;
  int64_t cpu;
  uint64_t calls[5];
};

// Thread-safety: the measuring thread's, but for what each worker has of its own between the barrier's phases.
class StockChannels {
 public:
  StockChannels(const StockGpu& gpu, const StockCode& code, const Pictures& pictures, const StockRun& run)
      : gpu_(gpu), code_(code), pictures_(pictures), run_(run), barrier_(run.channels + 1) {}

  Result<StockRow> measure();

 private:
  struct Worker {
    std::unique_ptr<StockChannel> channel;
    Status status;
    std::thread thread;
  };

  void work(Worker& worker, uint32_t index);
  [[nodiscard]] Status open(Worker& worker, uint32_t index) const;
  [[nodiscard]] StockTimes times_of(uint32_t index) const;
  [[nodiscard]] Result<StockRow> row(const Moment& first, const Moment& last) const;

  const StockGpu& gpu_;
  const StockCode& code_;
  const Pictures& pictures_;
  const StockRun run_;
  std::barrier<> barrier_;
  StockTimes times_;  // set while all wait
  std::vector<Worker> workers_;
};

Status StockChannels::open(Worker& worker, uint32_t index) const {
  if (Status status = gpu_.make_current(); !status) return status;
  const bool own_stream = run_.mode != StockMode::stock;
  Result<std::unique_ptr<StockChannel>> channel = StockChannel::open(
      gpu_, code_, pictures_, own_stream, run_.compare ? kCompareEvery : 0, index * kCompareApart % kCompareEvery);
  if (!channel) return channel.error();
  worker.channel = channel.take();
  return worker.channel->warm_up();
}

StockTimes StockChannels::times_of(uint32_t index) const {
  StockTimes times = times_;
  if (run_.stagger) times.phase_ns = times.period_ns * index / run_.channels;
  return times;
}

// Whoever fails keeps in step with the others, for they wait for him.
void StockChannels::work(Worker& worker, uint32_t index) {
  worker.status = open(worker, index);
  barrier_.arrive_and_wait();  // all are warm
  barrier_.arrive_and_wait();  // the times are known
  if (worker.status) worker.status = worker.channel->run(times_of(index));
  barrier_.arrive_and_wait();  // all are done
  barrier_.arrive_and_wait();  // what they have done is read
  worker.channel.reset();
}

Result<StockRow> StockChannels::measure() {
  Halide::Internal::JITSharedRuntime::reuse_device_allocations(run_.mode == StockMode::reuse);
  workers_ = std::vector<Worker>(run_.channels);
  for (uint32_t i = 0; i < run_.channels; ++i) workers_[i].thread = std::thread([this, i] { work(workers_[i], i); });
  barrier_.arrive_and_wait();
  const Moment first(gpu_.driver());
  times_.begin = first.time + kStartNs;
  times_.end = times_.begin + static_cast<int64_t>(run_.seconds * 1e9);
  times_.period_ns = run_.pace_fps > 0 ? static_cast<int64_t>(1e9 / run_.pace_fps) : 0;
  barrier_.arrive_and_wait();
  barrier_.arrive_and_wait();
  const Moment last(gpu_.driver());
  Result<StockRow> result = row(first, last);
  barrier_.arrive_and_wait();
  for (Worker& worker : workers_) worker.thread.join();
  Halide::Internal::JITSharedRuntime::reuse_device_allocations(false);
  return result;
}

Result<StockRow> StockChannels::row(const Moment& first, const Moment& last) const {
  StockRow row;
  std::vector<int64_t> latencies;
  for (const Worker& worker : workers_) {
    if (!worker.status) return worker.status.error();
    const StockChannel& channel = *worker.channel;
    const std::vector<int64_t>& own = channel.latencies_ns();
    row.lost += channel.lost();
    row.compared += channel.compared();
    row.worst_difference = std::max(row.worst_difference, channel.worst_difference());
    if (own.empty()) continue;
    row.fps += static_cast<double>(own.size()) * 1e9 / static_cast<double>(channel.last_end() - times_.begin);
    latencies.insert(latencies.end(), own.begin(), own.end());
  }
  if (latencies.empty()) return Error{ErrorCode::pipeline_failed, "no frame was done in time"};
  std::sort(latencies.begin(), latencies.end());
  const auto quantile_us = [&](double quantile) {
    const auto at = static_cast<size_t>(quantile * static_cast<double>(latencies.size()));
    return static_cast<double>(latencies[std::min(at, latencies.size() - 1)]) / 1e3;
  };
  row.p50_us = quantile_us(0.5);
  row.p99_us = quantile_us(0.99);
  row.p999_us = quantile_us(0.999);
  row.max_us = quantile_us(1);
  row.frames = latencies.size();
  row.cores = static_cast<double>(last.cpu - first.cpu) / static_cast<double>(last.time - first.time);
  double* const rates[] = {&row.allocs, &row.frees, &row.module_loads, &row.device_syncs, &row.launches};
  for (size_t i = 0; i < std::size(rates); ++i)
    *rates[i] = static_cast<double>(last.calls[i] - first.calls[i]) / static_cast<double>(row.frames);
  return row;
}

}  // namespace

Result<StockRow> measure_stock(const StockGpu& gpu, const StockCode& code, const Pictures& pictures,
                               const StockRun& run) {
  return StockChannels(gpu, code, pictures, run).measure();
}

}  // namespace framelane::bench
