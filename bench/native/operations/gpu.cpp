#include "native/operations/gpu.h"

#include <algorithm>
#include <cmath>

#include "cuda/frame_copy.h"
#include "halide/cuda_bridge.h"
#include "native/operations/cases.h"
#include "native/operations/cpu.h"
#include "native/operations/device_block.h"

namespace framelane::bench {

using cuda::CUresult;

namespace {

constexpr int kWindows = 5;
// Places together have more than the cache of any GPU (H200: 50 MB, B200: 126 MB).
constexpr size_t kBeyondCacheBytes = size_t{256} << 20;
constexpr size_t kLeastPlaces = 2, kMostPlaces = 32;
constexpr size_t kLeastFramesInGraph = 16;  // so that a graph's launch does not count
constexpr size_t kMostLaunches = 1000;      // of a graph in a window
constexpr size_t kCopyBytes = size_t{1} << 30;
constexpr size_t kCopies = 4;
constexpr int64_t kWarmUpNs = 200'000'000;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

// Where a frame lies and where its result goes. Thread-safety: a value with one owner.
struct OperationsGpu::Place {
  DeviceBlock input, output;
  cuda::DeviceFrame in, out;
};

// Frames as one graph, with the memory that it uses. Thread-safety: a value with one owner.
struct OperationsGpu::Captured {
  cuda::HeldBlocks held;
  cuda::GraphExec graph;
  size_t frames = 0;
};

Result<std::unique_ptr<OperationsGpu>> OperationsGpu::open(const std::string& library, const std::string& id) {
  Result<const cuda::Driver*> driver = cuda::Driver::open(library);
  if (!driver) return driver.error();
  Result<cuda::Gpu> gpu = cuda::find_gpu(*driver.value(), id);
  if (!gpu) return gpu.error();
  if (Status status = halide::install_cuda_bridge(*driver.value()); !status) return status.error();
  Result<std::unique_ptr<cuda::Context>> context = cuda::Context::open(*driver.value(), gpu.value());
  if (!context) return context.error();
  if (Status status = context.value()->make_current(); !status) return status.error();
  Result<std::unique_ptr<cuda::DeviceCache>> cache =
      cuda::DeviceCache::open(*driver.value(), context.value()->handle(), {});
  if (!cache) return cache.error();
  std::unique_ptr<OperationsGpu> opened(new OperationsGpu(context.take(), cache.take()));
  if (Status status = opened->set_up(); !status) return status.error();
  return opened;
}

OperationsGpu::OperationsGpu(std::unique_ptr<cuda::Context> context, std::unique_ptr<cuda::DeviceCache> cache)
    : context_(std::move(context)), cache_(std::move(cache)) {}

Status OperationsGpu::set_up() {
  Result<cuda::Stream> stream = cuda::make_stream(driver_);
  if (!stream) return stream.error();
  stream_ = stream.take();
  Result<std::unique_ptr<cuda::StreamCache>> memory = cache_->open_stream(stream_.get(), "operations");
  if (!memory) return memory.error();
  memory_ = memory.take();
  for (cuda::Event* event : {&begin_, &end_}) {
    Result<cuda::Event> made = cuda::make_event(driver_, true);
    if (!made) return made.error();
    *event = made.take();
  }
  return {};
}

Status OperationsGpu::done(CUresult result, const char* call) const {
  return result == cuda::CUDA_SUCCESS ? Status() : driver_.error(call, result);
}

template <typename Launch>
Result<double> OperationsGpu::timed_us(size_t times, const Launch& launch) {
  CUresult result = driver_.cuEventRecord(begin_.get(), stream_.get());
  for (size_t i = 0; i < times && result == cuda::CUDA_SUCCESS; ++i) result = launch();
  if (result == cuda::CUDA_SUCCESS) result = driver_.cuEventRecord(end_.get(), stream_.get());
  if (result == cuda::CUDA_SUCCESS) result = driver_.cuEventSynchronize(end_.get());
  float elapsed_ms = 0;
  if (result == cuda::CUDA_SUCCESS) result = driver_.cuEventElapsedTime(&elapsed_ms, begin_.get(), end_.get());
  if (result != cuda::CUDA_SUCCESS) {
    driver_.cuStreamSynchronize(stream_.get());  // what has been launched uses memory that now goes
    return driver_.error("the time on the device", result);
  }
  return double{elapsed_ms} * 1e3;
}

Result<double> OperationsGpu::memory_rate() {
  size_t free_bytes = 0, all_bytes = 0;
  if (Status status = done(driver_.cuMemGetInfo(&free_bytes, &all_bytes), "cuMemGetInfo"); !status)
    return status.error();
  const size_t bytes = std::min(kCopyBytes, free_bytes / 8);
  Result<DeviceBlock> from = DeviceBlock::take(driver_, bytes);
  if (!from) return from.error();
  Result<DeviceBlock> to = DeviceBlock::take(driver_, bytes);
  if (!to) return to.error();
  const auto copy = [&] {
    return driver_.cuMemcpyDtoDAsync(to.value().address(), from.value().address(), bytes, stream_.get());
  };
  // An idle device has lowered its clocks.
  for (const MonotonicNs begin = monotonic_now_ns(); monotonic_now_ns() - begin < kWarmUpNs;)
    if (Result<double> warm = timed_us(kCopies, copy); !warm) return warm.error();
  std::vector<double> windows_us;
  for (int i = 0; i < kWindows; ++i) {
    Result<double> taken = timed_us(kCopies, copy);
    if (!taken) return taken.error();
    windows_us.push_back(taken.value());
  }
  const double copy_us = median(windows_us) / double{kCopies};
  return copy_us > 0 ? 2 * static_cast<double>(bytes) / copy_us * 1e6 : 0;
}

Result<CompiledKernels> OperationsGpu::compile(const PipelineRequest& request) {
  const MonotonicNs begin = monotonic_now_ns();
  Result<std::unique_ptr<cuda::KernelProgram>> program = compiler_.compile_program(request);
  if (!program) return program.error();
  return CompiledKernels{program.take(), milliseconds(monotonic_now_ns() - begin)};
}

Result<std::vector<OperationsGpu::Place>> OperationsGpu::take_places(const cuda::KernelProgram& program) {
  const FrameFormat in = cuda::device_format(program.inputs()[0]), out = cuda::device_format(program.outputs()[0]);
  const size_t bytes = in.bytes() + out.bytes();
  const size_t count = std::clamp((kBeyondCacheBytes + bytes - 1) / bytes, kLeastPlaces, kMostPlaces);
  std::vector<std::byte>& noise = noise_[in.pixel];
  if (noise.size() != in.bytes()) noise = noise_of(in);
  std::vector<Place> places;
  for (size_t i = 0; i < count; ++i) {
    Result<DeviceBlock> input = DeviceBlock::take(driver_, in.bytes());
    if (!input) return input.error();
    Result<DeviceBlock> output = DeviceBlock::take(driver_, out.bytes());
    if (!output) return output.error();
    const cuda::DeviceFrame frame{input.value().address(), in}, result{output.value().address(), out};
    // One goes up, the others are copies of it.
    const CUresult filled = i == 0
                                ? driver_.cuMemcpyHtoDAsync(frame.data, noise.data(), noise.size(), stream_.get())
                                : driver_.cuMemcpyDtoDAsync(frame.data, places[0].in.data, noise.size(), stream_.get());
    if (Status status = done(filled, "the copy of a frame"); !status) return status.error();
    places.push_back({input.take(), output.take(), frame, result});
  }
  return places;
}

Status OperationsGpu::enqueue(cuda::KernelProgram& program, const Place& place) {
  return program.enqueue({context_->handle(), stream_.get(), memory_.get()}, {&place.in, 1}, {&place.out, 1});
}

Result<OperationsGpu::Captured> OperationsGpu::capture(cuda::KernelProgram& program, std::span<const Place> places,
                                                       size_t frames) {
  if (Status status = memory_->begin_hold(); !status) return status.error();
  CUresult result = driver_.cuStreamBeginCapture(stream_.get(), cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (result != cuda::CUDA_SUCCESS) {
    memory_->abort_hold();
    return driver_.error("cuStreamBeginCapture", result);
  }
  Status enqueued;
  for (size_t i = 0; i < frames && enqueued; ++i) enqueued = enqueue(program, places[i % places.size()]);
  cuda::CUgraph made = nullptr;
  result = driver_.cuStreamEndCapture(stream_.get(), &made);
  const cuda::Graph graph(driver_, made);
  cuda::CUgraphExec exec = nullptr;
  if (enqueued && result == cuda::CUDA_SUCCESS) result = driver_.cuGraphInstantiate(&exec, made, 0);
  if (!enqueued || result != cuda::CUDA_SUCCESS) {
    memory_->abort_hold();
    return enqueued ? driver_.error("the capture of the kernels", result) : enqueued.error();
  }
  cuda::GraphExec owned(driver_, exec);
  Result<cuda::HeldBlocks> held = memory_->end_hold();
  if (!held) return held.error();
  return Captured{held.take(), std::move(owned), frames};
}

Result<double> OperationsGpu::frame_us(const Captured& captured, double seconds) {
  const auto launch = [&] { return driver_.cuGraphLaunch(captured.graph.get(), stream_.get()); };
  // The first launch takes the graph to the device.
  if (Result<double> first = timed_us(1, launch); !first) return first.error();
  Result<double> one = timed_us(1, launch);
  if (!one) return one.error();
  const double window_us = seconds * 1e6 / kWindows;
  const double fitting = one.value() > 0 ? std::ceil(window_us / one.value()) : 1;
  const auto launches = static_cast<size_t>(std::clamp(fitting, 1.0, double{kMostLaunches}));
  std::vector<double> windows_us;
  for (int i = 0; i < kWindows; ++i) {
    Result<double> taken = timed_us(launches, launch);
    if (!taken) return taken.error();
    windows_us.push_back(taken.value());
  }
  return median(windows_us) / static_cast<double>(launches * captured.frames);
}

Result<KernelTimes> OperationsGpu::measure(cuda::KernelProgram& program, double seconds) {
  Result<std::vector<Place>> taken = take_places(program);
  if (!taken) return taken.error();
  const std::vector<Place>& places = taken.value();
  // Once by itself: the graph then finds its memory.
  const uint64_t before = driver_.cuLaunchKernel.calls();
  const Status enqueued = enqueue(program, places[0]);
  const Status finished = done(driver_.cuStreamSynchronize(stream_.get()), "the first run");
  if (!enqueued) return enqueued.error();
  if (!finished) return finished.error();
  KernelTimes times;
  times.kernels = driver_.cuLaunchKernel.calls() - before;
  times.stored_bytes = program.stored_bytes();
  const FrameFormat& in = places[0].in.format;
  times.traffic_bytes = cuda::copied_bytes(in.pixel, program.reads(0, {&in, 1})) + places[0].out.format.bytes();
  const size_t rounds = (kLeastFramesInGraph + places.size() - 1) / places.size();
  Result<Captured> captured = capture(program, places, rounds * places.size());
  if (!captured) return captured.error();
  Result<double> frame = frame_us(captured.value(), seconds);
  if (!frame) return frame.error();
  times.frame_us = frame.value();
  return times;
}

}  // namespace framelane::bench
