#include "native/stock/channel.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "halide/compiled_code.h"
#include "halide/graph.h"
#include "io/difference.h"

namespace framelane::bench {
namespace {

// As deep as a channel's ring: frames that wait beyond it are overwritten.
constexpr int64_t kRing = 6;

void sleep_until(MonotonicNs time) {
  const timespec until{static_cast<time_t>(time / 1'000'000'000), static_cast<long>(time % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

Error failed(const char* what, int result) {
  return {ErrorCode::pipeline_failed, std::string("Halide: ") + what + " returned " + std::to_string(result)};
}

}  // namespace

Result<std::unique_ptr<StockCode>> compile_stock(const StockGpu& gpu, const Workload& workload) {
  PipelineRequest request;
  request.channel = workload.name;
  request.spec = workload.pipeline;
  request.inputs = {workload.format};
  Result<halide::Plan> plan = halide::make_plan(request);
  if (!plan) return plan.error();
  if (plan.value().input.pixel != PixelFormat::mono8 || plan.value().output.pixel != PixelFormat::mono8)
    return Error{ErrorCode::unsupported, "stock Halide is measured with mono8 frames only"};
  try {
    halide::Graph graph(plan.value(), halide::cuda_target(gpu.gpu().capability), halide::Schedule::tuned);
    Halide::Callable callable = graph.compile(halide::GpuRuntime::halides);
    return std::make_unique<StockCode>(StockCode{plan.take(), std::move(callable)});
  } catch (const Halide::Error& error) {
    return Error{ErrorCode::compile_failed, std::string("Halide: ") + error.what()};
  }
}

StockChannel::StockChannel(const StockCode& code, const Pictures& pictures, uint64_t compare_every,
                           uint64_t first_compared)
    : code_(code),
      pictures_(pictures),
      compare_every_(compare_every),
      until_compared_(first_compared),
      arguments_(code.plan, 1) {}

Result<std::unique_ptr<StockChannel>> StockChannel::open(const StockGpu& gpu, const StockCode& code,
                                                         const Pictures& pictures, bool own_stream,
                                                         uint64_t compare_every, uint64_t first_compared) {
  std::unique_ptr<StockChannel> channel(new StockChannel(code, pictures, compare_every, first_compared));
  if (own_stream) {
    Result<cuda::Stream> stream = cuda::make_stream(gpu.driver());
    if (!stream) return stream.error();
    channel->stream_ = stream.take();
    channel->call_.stream = channel->stream_.get();
  }
  const size_t bytes = kInputs * pictures.format.bytes() + kOutputs * pictures.result.bytes();
  Result<std::unique_ptr<RegisteredMemory>> memory = RegisteredMemory::create(gpu.driver(), bytes);
  if (!memory) return memory.error();
  channel->memory_ = memory.take();
  channel->lay_out_slots();
  return channel;
}

void StockChannel::lay_out_slots() {
  std::byte* slot = memory_->data();
  const auto buffer = [&](const FrameFormat& format) {
    Buffer made(reinterpret_cast<uint8_t*>(slot), static_cast<int>(format.width), static_cast<int>(format.height));
    slot += format.bytes();
    return made;
  };
  for (size_t i = 0; i < kInputs; ++i) {
    std::memcpy(slot, pictures_.inputs[i].data(), pictures_.inputs[i].size());
    inputs_.push_back(buffer(pictures_.format));
  }
  for (size_t i = 0; i < kOutputs; ++i) outputs_.push_back(buffer(pictures_.result));
}

StockChannel::~StockChannel() {
  for (std::vector<Buffer>* buffers : {&inputs_, &outputs_}) {
    for (Buffer& buffer : *buffers) {
      buffer.set_device_dirty(false);
      buffer.device_free(&call_);
    }
  }
}

Status StockChannel::call(Buffer& input, Buffer& output) {
  Halide::JITUserContext* const context = &call_;
  const halide::Extent extent{input.width(), input.height()};
  const auto arguments = arguments_.of_frame(&context, extent, input.raw_buffer(), output.raw_buffer());
  const int result = code_.callable.call_argv_fast(arguments.size(), arguments.data());
  return result == 0 ? Status() : failed("the pipeline", result);
}

Status StockChannel::upload() {
  inputs_[0].set_host_dirty();
  const int result = inputs_[0].copy_to_device(inputs_[0].raw_buffer()->device_interface, &call_);
  return result == 0 ? Status() : failed("copy_to_device", result);
}

Status StockChannel::kernels() {
  return call(inputs_[0], outputs_[0]);
}

Status StockChannel::download() {
  outputs_[0].set_device_dirty();
  const int result = outputs_[0].copy_to_host(&call_);
  return result == 0 ? Status() : failed("copy_to_host", result);
}

Status StockChannel::frame() {
  Buffer& input = inputs_[frames_ % kInputs];
  Buffer& output = outputs_[frames_ % kOutputs];
  ++frames_;
  input.set_host_dirty();
  if (Status status = call(input, output); !status) return status;
  if (const int result = output.copy_to_host(&call_); result != 0) return failed("copy_to_host", result);
  // On a stream of its own the copy from page-locked memory has only begun.
  if (call_.stream != nullptr)
    if (const int result = output.device_sync(&call_); result != 0) return failed("device_sync", result);
  return {};
}

Status StockChannel::warm_up() {
  for (size_t i = 0; i < kInputs; ++i)
    if (Status status = frame(); !status) return status;
  return {};
}

void StockChannel::finish(MonotonicNs arrival, MonotonicNs end) {
  latencies_ns_.push_back(end - arrival);
  last_end_ = end;
  if (compare_every_ == 0 || until_compared_-- != 0) return;
  until_compared_ = compare_every_ - 1;
  const std::vector<std::byte>& expected = pictures_.expected[(frames_ - 1) % kInputs];
  const auto* const got = reinterpret_cast<const std::byte*>(outputs_[(frames_ - 1) % kOutputs].data());
  ++compared_;
  worst_difference_ = std::max(worst_difference_, io::worst_difference(got, expected.data(), expected.size()));
}

Status StockChannel::run_free(const StockTimes& times) {
  sleep_until(times.begin);
  for (MonotonicNs now = monotonic_now_ns(); now < times.end; now = monotonic_now_ns()) {
    if (Status status = frame(); !status) return status;
    finish(now, monotonic_now_ns());
  }
  return {};
}

// A frame's arrival is its due time, or what a source that slept for it would say.
Status StockChannel::run_paced(const StockTimes& times) {
  MonotonicNs due = times.begin + times.phase_ns;
  for (; due < times.end; due += times.period_ns) {
    MonotonicNs arrival = due;
    MonotonicNs now = monotonic_now_ns();
    if (now < due) {
      sleep_until(due);
      arrival = now = monotonic_now_ns();
    }
    if (now - due >= kRing * times.period_ns) {
      ++lost_;
      continue;
    }
    if (Status status = frame(); !status) return status;
    finish(arrival, monotonic_now_ns());
  }
  return {};
}

Status StockChannel::run(const StockTimes& times) {
  return times.period_ns == 0 ? run_free(times) : run_paced(times);
}

}  // namespace framelane::bench
