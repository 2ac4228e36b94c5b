// How long the kernels of each operation take: graph replay on one stream, nothing else on the GPU.
#include <algorithm>
#include <cstdio>

#include "cuda/device_cache.h"
#include "cuda/stream_cache.h"
#include "halide/cuda_compiler.h"
#include "native/gpu/gpu_rig.h"

namespace framelane::gpu {
namespace {

using test::operation;

// In one graph, so that its launch does not count; the best of several graphs.
constexpr int kFramesPerGraph = 20, kGraphs = 20;

// A device's parts, without the frame path. Thread-safety: one thread.
class Bench {
 public:
  explicit Bench(std::unique_ptr<cuda::Context> context)
      : context_(std::move(context)),
        cache_(cuda::DeviceCache::open(driver(), context_->handle(), {}).take()),
        stream_(cuda::make_stream(driver()).take()),
        memory_(cache_->open_stream(stream_.get(), "timings").take()),
        begin_(cuda::make_event(driver(), true).take()),
        end_(cuda::make_event(driver(), true).take()) {}

  // Microseconds for the kernels of one frame; `kernels`: how many there are.
  [[nodiscard]] Result<double> measure(const test::Operations& operations, const FrameFormat& format, size_t& kernels) {
    auto made = compiler_.compile_program(test::request_of(operations, format));
    if (!made) return made.error();
    cuda::KernelProgram& program = *made.value();
    Result<CUdeviceptr> in = memory_->allocate(format.bytes()), out = memory_->allocate(program.outputs()[0].bytes());
    if (!in) return in.error();
    if (!out) return out.error();
    Result<double> time = replay(program, {in.value(), format}, {out.value(), program.outputs()[0]}, kernels);
    for (const CUdeviceptr block : {in.value(), out.value()})
      if (Status status = memory_->release(block); !status) return status.error();
    return time;
  }

 private:
  using CUdeviceptr = cuda::CUdeviceptr;

  Result<double> replay(cuda::KernelProgram& program, const cuda::DeviceFrame& in, const cuda::DeviceFrame& out,
                        size_t& kernels) {
    const cuda::LaunchPlace place{context_->handle(), stream_.get(), memory_.get()};
    const uint64_t before = driver().cuLaunchKernel.calls();
    if (Status status = program.enqueue(place, {&in, 1}, {&out, 1}); !status) return status.error();
    kernels = driver().cuLaunchKernel.calls() - before;
    if (Status status = memory_->begin_hold(); !status) return status.error();
    driver().cuStreamBeginCapture(stream_.get(), cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    Status enqueued;
    for (int i = 0; i < kFramesPerGraph && enqueued; ++i) enqueued = program.enqueue(place, {&in, 1}, {&out, 1});
    cuda::CUgraph captured = nullptr;
    driver().cuStreamEndCapture(stream_.get(), &captured);
    const cuda::Graph graph(driver(), captured);
    Result<cuda::HeldBlocks> held = memory_->end_hold();
    if (!enqueued) return enqueued.error();
    if (!held) return held.error();
    cuda::CUgraphExec made = nullptr;
    if (const cuda::CUresult result = driver().cuGraphInstantiate(&made, captured, 0); result != cuda::CUDA_SUCCESS)
      return driver().error("cuGraphInstantiate", result);
    const cuda::GraphExec exec(driver(), made);
    float best = 0;
    for (int i = 0; i < kGraphs; ++i) {
      driver().cuEventRecord(begin_.get(), stream_.get());
      driver().cuGraphLaunch(exec.get(), stream_.get());
      driver().cuEventRecord(end_.get(), stream_.get());
      if (const cuda::CUresult result = driver().cuEventSynchronize(end_.get()); result != cuda::CUDA_SUCCESS)
        return driver().error("cuEventSynchronize", result);
      float milliseconds = 0;
      driver().cuEventElapsedTime(&milliseconds, begin_.get(), end_.get());
      if (i == 0 || milliseconds < best) best = milliseconds;
    }
    return double{best} * 1000 / kFramesPerGraph;
  }

  std::unique_ptr<cuda::Context> context_;
  std::unique_ptr<cuda::DeviceCache> cache_;
  cuda::Stream stream_;
  std::unique_ptr<cuda::StreamCache> memory_;
  cuda::Event begin_, end_;
  cuda::HostMemory host_{*context_};
  cuda::Watch watch_{*context_, 0};
  cuda::Bus bus_;
  halide::CudaCompiler compiler_{{*context_, *cache_, host_, watch_, bus_}, {}};
};

struct Row {
  const char* name;
  test::Operations operations;
};

std::vector<Row> rows() {
  const auto resize = [](double width, double height, const char* method) {
    return operation("resize", {{"width", width}, {"height", height}, {"method", std::string(method)}});
  };
  const auto contrast = [](const char* schedule) {
    return operation("local_contrast", {{"gain", 1.2}, {"levels", 3.0}, {"schedule", std::string(schedule)}});
  };
  return {{"copy", {}},
          {"gain", {operation("gain", {{"value", 1.5}})}},
          {"gamma", {operation("gamma", {{"value", 2.2}})}},
          {"convert float32", {operation("convert", {{"type", std::string("float32")}})}},
          {"crop 640x480", {operation("crop", {{"x", 64.0}, {"y", 64.0}, {"width", 640.0}, {"height", 480.0}})}},
          {"unsharp 1", {operation("unsharp", {{"amount", 0.5}})}},
          {"unsharp 5", {operation("unsharp", {{"amount", 0.5}, {"radius", 5.0}})}},
          {"unsharp 20", {operation("unsharp", {{"amount", 0.5}, {"radius", 20.0}})}},
          {"local_contrast", {contrast("fused")}},
          {"local_contrast stages", {contrast("stages")}},
          {"resize nearest", {resize(1280, 720, "nearest")}},
          {"resize bilinear", {resize(1280, 720, "bilinear")}},
          {"resize bicubic", {resize(1280, 720, "bicubic")}},
          {"resize area", {resize(1280, 720, "area")}},
          {"unsharp, gamma, contrast",
           {operation("unsharp", {{"amount", 0.5}}), operation("gamma", {{"value", 2.0}}), contrast("fused")}}};
}

}  // namespace

int print_timings() {
  const Result<cuda::Gpu> found = cuda::find_gpu(driver(), device().info().id);
  if (!found) return 1;
  Result<std::unique_ptr<cuda::Context>> context = cuda::Context::open(driver(), found.value());
  if (!context || !context.value()->make_current()) return 1;
  Bench bench(context.take());
  std::printf("%-26s %-20s %8s %9s %9s\n", "operation", "frame", "kernels", "us", "GB/s");
  const FrameFormat formats[] = {
      FrameFormat::packed(PixelFormat::mono8, 2904, 1111), FrameFormat::packed(PixelFormat::rgb8, 1920, 1080),
      FrameFormat::packed(PixelFormat::mono32f, 2048, 2048), FrameFormat::packed(PixelFormat::rgb32f, 4096, 3112)};
  for (const Row& row : rows()) {
    for (const FrameFormat& format : formats) {
      size_t kernels = 0;
      const Result<double> time = bench.measure(row.operations, format, kernels);
      if (!time) {
        std::printf("%-26s %-20s %s\n", row.name, format.describe().c_str(), time.error().message.c_str());
        return 1;
      }
      // Of the frame itself: what reading it once would be.
      const double rate = static_cast<double>(format.bytes()) / time.value() / 1000;
      std::printf("%-26s %-20s %8zu %9.1f %9.1f\n", row.name, format.describe().c_str(), kernels, time.value(), rate);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace framelane::gpu
