#include "native/stock/alone.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace framelane::bench {
namespace {

using cuda::CUresult;

// Thread-safety: one thread, with the context current.
class Steps {
 public:
  Steps(const cuda::Driver& driver, StockChannel& channel) : driver_(driver), channel_(channel) {}

  Status open() {
    for (cuda::Event& event : events_) {
      Result<cuda::Event> made = cuda::make_event(driver_, true);
      if (!made) return made.error();
      event = made.take();
    }
    capture();
    return {};
  }

  // One frame; what each step took goes to the end of its list.
  Status frame() {
    if (Status status = take(upload_us_, [this] { return channel_.upload(); }); !status) return status;
    if (Status status = take(launched_us_, [this] { return channel_.kernels(); }); !status) return status;
    if (graph_)
      if (Status status = take(kernels_us_, [this] { return launch_graph(); }); !status) return status;
    return take(download_us_, [this] { return channel_.download(); });
  }

  [[nodiscard]] AloneTimes medians() {
    return {median(upload_us_), median(kernels_us_), median(launched_us_), median(download_us_)};
  }

 private:
  // What Halide launches, as one graph. Memory that was freed is kept, so that nothing is taken from the driver
  // meanwhile, and nobody else gets it later.
  void capture() {
    if (driver_.cuStreamBeginCapture(channel_.stream(), cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) !=
        cuda::CUDA_SUCCESS)
      return;
    const Status launched = channel_.kernels();
    cuda::CUgraph captured = nullptr;
    const CUresult ended = driver_.cuStreamEndCapture(channel_.stream(), &captured);
    const cuda::Graph graph(driver_, captured);
    cuda::CUgraphExec exec = nullptr;
    if (launched && ended == cuda::CUDA_SUCCESS && driver_.cuGraphInstantiate(&exec, captured, 0) == cuda::CUDA_SUCCESS)
      graph_ = cuda::GraphExec(driver_, exec);
  }

  Status launch_graph() {
    const CUresult result = driver_.cuGraphLaunch(graph_.get(), channel_.stream());
    return result == cuda::CUDA_SUCCESS ? Status() : driver_.error("cuGraphLaunch", result);
  }

  Status take(std::vector<double>& times_us, const std::function<Status()>& step) {
    const auto& [begin, end] = events_;
    CUresult result = driver_.cuEventRecord(begin.get(), channel_.stream());
    if (Status status = step(); !status) return status;
    if (result == cuda::CUDA_SUCCESS) result = driver_.cuEventRecord(end.get(), channel_.stream());
    if (result == cuda::CUDA_SUCCESS) result = driver_.cuEventSynchronize(end.get());
    float milliseconds = 0;
    if (result == cuda::CUDA_SUCCESS) result = driver_.cuEventElapsedTime(&milliseconds, begin.get(), end.get());
    if (result != cuda::CUDA_SUCCESS) return driver_.error("a step's time", result);
    times_us.push_back(double{milliseconds} * 1e3);
    return {};
  }

  static double median(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[(values.size() - 1) / 2];
  }

  const cuda::Driver& driver_;
  StockChannel& channel_;
  std::array<cuda::Event, 2> events_;
  cuda::GraphExec graph_;
  std::vector<double> upload_us_, kernels_us_, launched_us_, download_us_;
};

Result<AloneTimes> measure_steps(const StockGpu& gpu, const StockCode& code, const Pictures& pictures, int frames,
                                 int64_t period_ns) {
  Result<std::unique_ptr<StockChannel>> channel = StockChannel::open(gpu, code, pictures, true, 0, 0);
  if (!channel) return channel.error();
  if (Status status = channel.value()->warm_up(); !status) return status.error();
  Steps steps(gpu.driver(), *channel.value());
  if (Status status = steps.open(); !status) return status.error();
  auto due = std::chrono::steady_clock::now();
  for (int i = 0; i < frames; ++i, due += std::chrono::nanoseconds(period_ns)) {
    std::this_thread::sleep_until(due);
    if (Status status = steps.frame(); !status) return status.error();
  }
  return steps.medians();
}

}  // namespace

Result<AloneTimes> measure_alone(const StockGpu& gpu, const StockCode& code, const Pictures& pictures, int frames,
                                 int64_t period_ns) {
  Halide::Internal::JITSharedRuntime::reuse_device_allocations(true);
  Result<AloneTimes> times = measure_steps(gpu, code, pictures, frames, period_ns);
  Halide::Internal::JITSharedRuntime::reuse_device_allocations(false);
  return times;
}

}  // namespace framelane::bench
