#include "halide/cpu_pipeline.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

#include "halide/buffer.h"

namespace framelane::halide {
namespace {

// Enough strips that a thread which starts late, or is taken away, does not hold up the frame.
constexpr uint32_t kStripsPerThread = 3;

std::byte* reserve(size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

Error failed(const char* message) {
  return {ErrorCode::pipeline_failed, message};
}

// Strides that the code can address, and whole samples.
bool fits(const FrameFormat& format) noexcept {
  const PixelFormatInfo& pixel = info(format.pixel);
  const FrameFormat packed = FrameFormat::packed(format.pixel, format.width, format.height);
  const size_t bytes = bytes_per_sample(pixel.type);
  const bool planar = pixel.samples > 1 && pixel.arrangement == Arrangement::planar;
  return format.row_stride_bytes >= packed.row_stride_bytes && format.row_stride_bytes % bytes == 0 &&
         (!planar || (format.plane_stride_bytes >= format.row_stride_bytes * format.height &&
                      format.plane_stride_bytes % bytes == 0)) &&
         format.bytes() <= size_t{std::numeric_limits<int32_t>::max()};
}

}  // namespace

CpuPipeline::CpuPipeline(Plan plan, std::shared_ptr<const CompiledCode> code, uint32_t lanes, uint32_t threads)
    : plan_(std::move(plan)),
      code_(std::move(code)),
      arena_(threads),
      pool_(threads),
      context_(arena_, pool_),
      lanes_(lanes),
      arguments_(plan_, threads == 1 ? 1 : threads * kStripsPerThread),
      unwanted_(reserve(plan_.output.bytes())) {}

CpuPipeline::~CpuPipeline() {
  if (unwanted_ != nullptr) munmap(unwanted_, plan_.output.bytes());
}

FrameFormat CpuPipeline::output_for(size_t, std::span<const FrameFormat> inputs) const noexcept {
  if (inputs.empty()) return plan_.output;
  const Extent extent = plan_.extent({int32_t(inputs[0].width), int32_t(inputs[0].height)});
  return FrameFormat::packed(plan_.output.pixel, uint32_t(extent.width), uint32_t(extent.height));
}

Status CpuPipeline::check(const Job& job, const FrameFormat& wanted) const noexcept {
  if (job.inputs.size() != 1 || job.outputs.size() != 1) return failed("a frame has one input and one output here");
  const FrameView& in = job.inputs[0];
  const FrameView& out = job.outputs[0];
  if (in.data == nullptr || in.memory != MemoryKind::host || (out.data != nullptr && out.memory != MemoryKind::host))
    return failed("the frame is not in host memory");
  if (in.format.pixel != plan_.input.pixel || in.format.width == 0 || in.format.height == 0 ||
      in.format.width > plan_.input.width || in.format.height > plan_.input.height)
    return failed("the frame is not of the format that the pipeline was compiled for");
  if (wanted.width == 0 || wanted.height == 0) return failed("the frame is too small: nothing of it is left");
  if (out.data != nullptr && (out.format.pixel != wanted.pixel || out.format.width != wanted.width ||
                              out.format.height != wanted.height || !fits(out.format)))
    return failed("the output is not of the format that this frame gives");
  if (!fits(in.format)) return failed("the frame's strides do not fit its format");
  return {};
}

Status CpuPipeline::run(const FrameView& input, const FrameView& output) noexcept {
  const FrameBuffer in(input, plan_.flat_input), out(output, plan_.flat_output);
  Halide::JITUserContext* context = &context_;
  const Extent extent{int32_t(input.format.width), int32_t(input.format.height)};
  const std::span<const void* const> arguments = arguments_.of_frame(&context, extent, in.get(), out.get());
  context_.forget_error();
  const int result = code_->callable.call_argv_fast(arguments.size(), arguments.data());
  if (result != 0) return Error{ErrorCode::pipeline_failed, context_.error()};
  return {};
}

Status CpuPipeline::submit(LaneIndex lane, const Job& job) noexcept {
  const FrameFormat wanted =
      job.inputs.empty() ? plan_.output : output_for(0, std::span<const FrameFormat>(&job.inputs[0].format, 1));
  if (Status status = check(job, wanted); !status) return status;
  FrameView output = job.outputs[0];
  if (output.data == nullptr) output = {unwanted_, wanted, MemoryKind::host};
  const MonotonicNs begin = monotonic_now_ns();
  lanes_[lane].status = run(job.inputs[0], output);
  lanes_[lane].compute_ns = monotonic_now_ns() - begin;
  return {};
}

Completion CpuPipeline::wait(LaneIndex lane) noexcept {
  return std::exchange(lanes_[lane], {});
}

Status CpuPipeline::warm_up() {
  if (unwanted_ == nullptr)
    return Error{ErrorCode::out_of_memory,
                 "no address space for an output of " + std::to_string(plan_.output.bytes()) + " bytes"};
  const size_t bytes = plan_.input.bytes();
  std::byte* const zeros = reserve(bytes);
  if (zeros == nullptr)
    return Error{ErrorCode::out_of_memory, "no address space for a frame of " + std::to_string(bytes) + " bytes"};
  const FrameView input{zeros, plan_.input, MemoryKind::host};
  Status status = run(input, {unwanted_, plan_.output, MemoryKind::host});
  munmap(zeros, bytes);
  madvise(unwanted_, plan_.output.bytes(), MADV_DONTNEED);
  return status;
}

}  // namespace framelane::halide
