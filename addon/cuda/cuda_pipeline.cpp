#include "cuda/cuda_pipeline.h"

#include <pthread.h>

#include <algorithm>

namespace framelane::cuda {
namespace {

Error refused(const char* why) {
  return {ErrorCode::pipeline_failed, why};
}

// Strides that a copy of rows can follow.
bool fits(const FrameFormat& format) noexcept {
  const PixelFormatInfo& pixel = info(format.pixel);
  const FrameFormat packed = device_format(format);
  const bool planar = pixel.samples > 1 && pixel.arrangement == Arrangement::planar;
  return format.row_stride_bytes >= packed.row_stride_bytes &&
         (!planar || format.plane_stride_bytes >= format.row_stride_bytes * format.height);
}

}  // namespace

CudaPipeline::CudaPipeline(const DeviceParts& parts, std::unique_ptr<KernelProgram> program,
                           const PipelineRequest& request)
    : program_(std::move(program)), around_{parts.context, parts.cache,    parts.host,      parts.watch, parts.bus,
                                            *program_,     request.wishes, request.channel, parts.replay} {}

Result<std::unique_ptr<Pipeline>> CudaPipeline::open(const DeviceParts& parts, std::unique_ptr<KernelProgram> program,
                                                     const PipelineRequest& request) {
  if (request.lanes < 1 || request.lanes > kMostLanes)
    return Error{ErrorCode::invalid_argument, "in_flight must be from 1 to " + std::to_string(kMostLanes)};
  if (Status current = parts.context.make_current(); !current) return current.error();
  const uint32_t lanes = program->keeps_state() ? 1 : request.lanes;
  std::unique_ptr<CudaPipeline> pipeline(new CudaPipeline(parts, std::move(program), request));
  for (uint32_t i = 0; i < lanes; ++i) {
    Result<std::unique_ptr<Lane>> lane = Lane::open(pipeline->around_);
    if (!lane) return lane.error();
    if (Status status = lane.value()->warm_up(); !status) return status.error();
    pipeline->lanes_.push_back(lane.take());
  }
  return std::unique_ptr<Pipeline>(std::move(pipeline));
}

CudaPipeline::~CudaPipeline() {
  end_telling();
  if (around_.context.make_current()) lanes_.clear();
}

Status CudaPipeline::check(const Job& job) const noexcept {
  const std::span<const FrameFormat> inputs = program_->inputs();
  if (job.inputs.size() != inputs.size() || job.outputs.size() != outputs().size())
    return refused("the frame has not as many inputs and outputs as the pipeline");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FrameView& in = job.inputs[i];
    if (in.data == nullptr || in.memory != MemoryKind::host) return refused("the frame is not in host memory");
    if (in.format.pixel != inputs[i].pixel || in.format.width == 0 || in.format.height == 0 ||
        in.format.width > inputs[i].width || in.format.height > inputs[i].height)
      return refused("the frame is not of the format that the pipeline was compiled for");
    if (!fits(in.format)) return refused("the frame's strides do not fit its format");
  }
  for (size_t i = 0; i < job.outputs.size(); ++i) {
    const FrameView& out = job.outputs[i];
    const FrameFormat wanted = inputs.size() == 1 ? output_for(i, {&job.inputs[0].format, 1}) : outputs()[i];
    if (wanted.width == 0 || wanted.height == 0) return refused("the frame is too small: nothing of it is left");
    if (out.data == nullptr) continue;
    if (out.memory != MemoryKind::host || out.format.pixel != wanted.pixel || out.format.width != wanted.width ||
        out.format.height != wanted.height || !fits(out.format))
      return refused("the output is not of the format that this frame gives");
  }
  return {};
}

Status CudaPipeline::submit(LaneIndex lane, const Job& job) noexcept {
  if (Status status = check(job); !status) return status;
  if (Status current = around_.context.make_current(); !current) return current;
  if (around_.watch.lost()) return Error{ErrorCode::device_lost, "the device is lost"};
  const Result<uint64_t> bytes = lanes_[lane]->prepare(job);
  if (!bytes) return bytes.error();
  if (Status admitted = admit(lane, job, bytes.value()); !admitted) return admitted;
  told_ &= ~(1U << lane);
  return lanes_[lane]->submit(job, bytes.value(), !download_waits());
}

// Who sleeps for his turn has given back those that he had: else all could sleep and wait for each other.
Status CudaPipeline::admit(LaneIndex lane, const Job& job, uint64_t bytes) noexcept {
  Admission& upload = around_.bus.upload;
  if (bytes == 0 || upload.try_enter(bytes)) return {};
  around_.bus.turns.collect();
  if (upload.try_enter(bytes)) return {};
  for (uint32_t i = 1; i < lanes_.size(); ++i)
    if (lanes_[(lane + i) % lanes_.size()]->finish_upload() && upload.try_enter(bytes)) return {};
  const ServiceWishes& wishes = around_.wishes;
  const Urgency urgency = urgency_of(wishes, job.meta != nullptr ? job.meta->arrival_ns : monotonic_now_ns());
  const bool drops = wishes.on_overload == OnOverload::drop_late && wishes.deadline_ns > 0;
  if (upload.enter(bytes, urgency, drops ? urgency.due_ns : kNoDeadline, upload_ticket_) == Admission::Outcome::late)
    return Error{ErrorCode::frame_late, "its deadline was over before the bus was free for it"};
  return {};
}

// The lanes' downloads begin in the order of their frames.
bool CudaPipeline::download_waits() const noexcept {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->download_waits(); });
}

Completion CudaPipeline::wait(LaneIndex lane) noexcept {
  if (lanes_[lane]->download_waits())
    for (const std::unique_ptr<Lane>& each : lanes_) std::ignore = each->finish_upload();
  begin_downloads(lane);
  return lanes_[lane]->wait();
}

// Downloads whose kernels are done, from the oldest lane's on, before the worker sleeps for that one.
void CudaPipeline::begin_downloads(LaneIndex oldest) noexcept {
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    const LaneIndex lane = static_cast<LaneIndex>((oldest + i) % lanes_.size());
    if (!lanes_[lane]->download_waits()) continue;
    std::ignore = done(lane);
    if (lanes_[lane]->download_waits()) return;
  }
}

Status CudaPipeline::set_parameter(const std::string& name, double value) noexcept {
  Status status = program_->set_parameter(name, value);
  if (status)
    for (const std::unique_ptr<Lane>& lane : lanes_) lane->forget_graph();
  return status;
}

PipelineReport CudaPipeline::report() const noexcept {
  PipelineReport report;
  report.replay = Replay::captured;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    report.captures += lane->captures();
    report.staged_frames += lane->staged_frames();
    if (lane->replay() == Replay::captured) continue;
    report.replay = Replay::direct;
    report.obstacle = lane->obstacle();
  }
  return report;
}

bool CudaPipeline::notify(LaneListener* listener) noexcept {
  end_telling();
  listener_ = listener;
  if (listener == nullptr) return true;
  try {
    ending_.store(false);
    teller_ = std::thread([this] { tell_lanes(); });
  } catch (const std::exception&) {
    listener_ = nullptr;
    return false;
  }
  return true;
}

void CudaPipeline::tell(LaneIndex lane) noexcept {
  if (listener_ == nullptr) return;
  told_ |= 1U << lane;
  to_tell_.fetch_or(1U << lane, std::memory_order_release);
  tell_.notify();
}

void CudaPipeline::tell_lanes() {
  pthread_setname_np(pthread_self(), "fl-lanes");
  if (!around_.context.make_current()) return;
  for (;;) {
    tell_.wait_until(kNoDeadline, [this] { return to_tell_.load(std::memory_order_acquire) != 0 || ending_.load(); });
    const uint32_t told = to_tell_.exchange(0, std::memory_order_acq_rel);
    if (told == 0) return;
    for (LaneIndex lane = 0; lane < lanes_.size(); ++lane) {
      if ((told >> lane & 1U) == 0) continue;
      lanes_[lane]->wait_done();
      listener_->lane_done(lane);
    }
  }
}

void CudaPipeline::end_telling() noexcept {
  if (!teller_.joinable()) return;
  ending_.store(true);
  tell_.notify();
  teller_.join();
}

}  // namespace framelane::cuda
