// A frame's way through a lane: up to the device, through the kernels, and down again.
#include <algorithm>
#include <cstring>

#include "cuda/lane.h"

namespace framelane::cuda {
namespace {

// Events that take the time cost more than those that do not.
constexpr uint64_t kTimedEvery = 16;

// A turn on the bus that is given back with its frame, and not with its upload, is kept no longer than this: one thread
// less has to wake. With longer frames that is no cost to speak of.
constexpr int64_t kLongNs = 1'000'000;

// A turn on the bus in one word: its bytes, and of which frame it is. Never 0.
uint64_t turn_of(uint64_t bytes, uint64_t frame) noexcept {
  return bytes << 16 | (frame & 0x7fff) << 1 | 1;
}

bool same_extent(const FrameFormat& a, const FrameFormat& b) noexcept {
  return a.width == b.width && a.height == b.height;
}

}  // namespace

Status Lane::mark(Point point) noexcept {
  if (timing_) {
    if (const CUresult result = driver_.cuEventRecord(timed_[point].get(), stream_.get()); result != CUDA_SUCCESS)
      return failed("cuEventRecord", result);
  }
  const Event* const event = point == kUploaded ? &uploaded_ : point == kDone ? &done_ : nullptr;
  return event == nullptr ? Status() : record(*event);
}

Status Lane::record(const Event& event) noexcept {
  if (const CUresult result = driver_.cuEventRecord(event.get(), stream_.get()); result != CUDA_SUCCESS)
    return failed("cuEventRecord", result);
  return {};
}

Result<std::byte*> Lane::pinned(Place& place, std::byte* slot, size_t bytes) noexcept {
  if (place.pinned.holds(slot, bytes)) return slot;
  place.pinned = around_.host.find(slot, bytes);
  if (place.pinned.holds(slot, bytes)) return slot;
  if (around_.wishes.pinned_required)
    return Error{ErrorCode::device_failed, "the slot is not in memory that the device's driver could pin"};
  if (place.staging.bytes() < bytes) {
    Result<PinnedBlock> block = around_.host.allocate(std::max(bytes, place.largest.bytes()));
    if (!block) return block.error();
    place.staging = block.take();
  }
  staged_ = true;
  return place.staging.data();
}

Result<uint64_t> Lane::prepare(const Job& job) noexcept {
  staged_ = false;
  uint64_t bytes = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    input_formats_[i] = job.inputs[i].format;
    input_frames_[i] = {inputs_[i].data, device_format(job.inputs[i].format)};
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const FrameView& view = job.inputs[i];
    Place& place = inputs_[i];
    Result<std::byte*> from = pinned(place, view.data, view.format.bytes());
    if (!from) return from.error();
    if (from.value() != view.data) std::memcpy(from.value(), view.data, view.format.bytes());
    place.copy_from = from.value();
    place.region = around_.program.reads(i, input_formats_);
    bytes += copied_bytes(view.format.pixel, place.region);
  }
  return bytes;
}

Status Lane::upload_all(const Job& job) noexcept {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const CUresult result =
        upload(driver_, stream_.get(), input_frames_[i], inputs_[i].copy_from, job.inputs[i].format, inputs_[i].region);
    if (result != CUDA_SUCCESS) return failed("the upload", result);
  }
  return {};
}

Status Lane::run_kernels() noexcept {
  smaller_ = false;
  for (size_t i = 0; i < inputs_.size(); ++i)
    smaller_ = smaller_ || !same_extent(input_formats_[i], inputs_[i].largest);
  for (size_t i = 0; i < outputs_.size(); ++i)
    output_frames_[i] = {outputs_[i].data, device_format(around_.program.output_for(i, input_formats_))};
  const bool never = obstacle_ == ReplayObstacle::not_replayable || obstacle_ == ReplayObstacle::switched_off;
  if (!smaller_ && stale_ && !never) {
    if (Status status = capture(); !status) return status;
  }
  if (smaller_ || !graph_) return around_.program.enqueue(launch_place(), input_frames_, output_frames_);
  if (const CUresult result = driver_.cuGraphLaunch(graph_.get(), stream_.get()); result != CUDA_SUCCESS)
    return failed("cuGraphLaunch", result);
  return {};
}

Status Lane::download_all() noexcept {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const FrameView& view = wanted_[i];
    Place& place = outputs_[i];
    place.copy_to = nullptr;
    if (view.data == nullptr) continue;
    const size_t bytes = view.format.bytes();
    Result<std::byte*> to = pinned(place, view.data, bytes);
    if (!to) return to.error();
    if (to.value() != view.data) {
      place.copy_to = view.data;
      place.copy_bytes = bytes;
    }
    const CUresult result = download(driver_, stream_.get(), to.value(), view.format, output_frames_[i]);
    if (result != CUDA_SUCCESS) return failed("the download", result);
  }
  return mark(kDone);
}

uint64_t Lane::download_bytes() const noexcept {
  uint64_t bytes = 0;
  for (const FrameView& view : wanted_)
    if (view.data != nullptr) bytes += copied_bytes(view.format.pixel, {0, 0, view.format.width, view.format.height});
  return bytes;
}

Status Lane::enqueue(const Job& job, bool may_download) noexcept {
  if (Status status = mark(kBegin); !status) return status;
  if (Status status = upload_all(job); !status) return status;
  if (Status status = mark(kUploaded); !status) return status;
  upload_turn_ = around_.bus.turns.put(upload_turn_bytes_, stream_.get());
  if (upload_turn_) upload_turn_bytes_ = 0;
  if (Status status = run_kernels(); !status) return status;
  if (Status status = mark(kComputed); !status) return status;
  const uint64_t bytes = download_bytes();
  if (bytes == 0) return download_all();
  if (!may_download || !around_.bus.download.try_enter(bytes)) {
    timing_ = false;  // the bus's queue is no time of the download
    if (Status status = record(computed_); !status) return status;
    phase_.store(Phase::waiting, std::memory_order_release);
    return {};
  }
  Status status = download_all();
  if (status)
    download_turn_.store(turn_of(bytes, frames_), std::memory_order_release);
  else
    around_.bus.download.leave(bytes);
  return status;
}

Status Lane::submit(const Job& job, uint64_t upload_bytes, bool may_download) noexcept {
  upload_turn_bytes_ = upload_bytes;
  timing_ = frames_++ % kTimedEvery == 0;
  std::copy(job.outputs.begin(), job.outputs.end(), wanted_.begin());
  urgency_ = urgency_of(around_.wishes, job.meta != nullptr ? job.meta->arrival_ns : monotonic_now_ns());
  progress_.calling();
  Status status = enqueue(job, may_download);
  if (!status) {
    drain();
    progress_.idle();
    settle_upload();
    return status;
  }
  progress_.on_device(download_waits() ? computed_ : done_);
  return status;
}

Status Lane::wait_for(const Event& event, Completions::Ticket& ticket) const noexcept {
  if (around_.wishes.spin) {
    for (;;) {
      const CUresult result = driver_.cuEventQuery(event.get());
      if (result == CUDA_SUCCESS) return {};
      if (result != CUDA_ERROR_NOT_READY) return failed("the frame", result);
      __builtin_ia32_pause();
    }
  }
  const CUresult result = around_.bus.completions.wait(driver_, event.get(), ticket);
  return result == CUDA_SUCCESS ? Status() : failed("the frame", result);
}

bool Lane::inputs_read() noexcept {
  const bool keeps = upload_turn_bytes_ != 0 && around_.bus.upload.waiting() != 0;
  const bool keeps_long = after_upload_ns_ > kLongNs && (upload_turn_bytes_ != 0 || upload_turn_);
  if (!keeps && !keeps_long && driver_.cuEventQuery(uploaded_.get()) == CUDA_ERROR_NOT_READY) return false;
  wait_upload();
  return true;
}

void Lane::wait_upload() noexcept {
  // wait() says what went wrong. The slot must not be filled while it may still be read.
  if (!wait_for(uploaded_, worker_)) drain();
  settle_upload();
}

bool Lane::finish_upload() noexcept {
  if (upload_turn_bytes_ == 0 && !upload_turn_) return false;
  wait_upload();
  return true;
}

void Lane::settle_upload() noexcept {
  if (upload_turn_bytes_ != 0) around_.bus.upload.leave(std::exchange(upload_turn_bytes_, 0));
  around_.bus.turns.end(std::exchange(upload_turn_, {}));
}

void Lane::settle_download(uint64_t turn) noexcept {
  if (turn != 0 && download_turn_.compare_exchange_strong(turn, 0)) around_.bus.download.leave(turn >> 16);
}

// The turn first: then the event is of this frame or of a later one, and what is settled is not a later one's.
void Lane::wait_done() noexcept {
  begin_download(teller_);
  const uint64_t turn = download_turn_.load(std::memory_order_acquire);
  std::ignore = around_.bus.completions.wait(driver_, done_.get(), teller_);
  settle_download(turn);
}

bool Lane::claim_download() noexcept {
  Phase waiting = Phase::waiting;
  return phase_.compare_exchange_strong(waiting, Phase::claimed, std::memory_order_acquire);
}

void Lane::begin_download(Completions::Ticket& ticket) noexcept {
  if (!claim_download()) return;
  download_status_ = wait_for(computed_, ticket);
  if (download_status_) {
    const uint64_t bytes = download_bytes();
    progress_.idle();
    std::ignore = around_.bus.download.enter(bytes, urgency_, kNoDeadline, ticket_);
    put_download(bytes);
  }
  phase_.store(Phase::begun, std::memory_order_release);
  begun_.notify();
}

void Lane::put_download(uint64_t bytes) noexcept {
  progress_.calling();
  download_status_ = download_all();
  progress_.on_device(done_);
  if (download_status_)
    download_turn_.store(turn_of(bytes, frames_), std::memory_order_release);
  else
    around_.bus.download.leave(bytes);
}

bool Lane::done(bool begins) noexcept {
  if (begins && claim_download()) {
    const bool computed = driver_.cuEventQuery(computed_.get()) == CUDA_SUCCESS;
    const uint64_t bytes = download_bytes();
    if (!computed || !around_.bus.download.try_enter(bytes)) {
      phase_.store(Phase::waiting, std::memory_order_release);
      return false;
    }
    put_download(bytes);
    phase_.store(Phase::begun, std::memory_order_release);
  }
  if (download_waits()) return false;
  return driver_.cuEventQuery(done_.get()) != CUDA_ERROR_NOT_READY;
}

int64_t Lane::between(Point from, Point to) const noexcept {
  float milliseconds = 0;
  if (!timing_) return -1;
  if (driver_.cuEventElapsedTime(&milliseconds, timed_[from].get(), timed_[to].get()) != CUDA_SUCCESS) return -1;
  return static_cast<int64_t>(double{milliseconds} * 1e6);
}

Completion Lane::wait() noexcept {
  Completion completion;
  if (phase_.load(std::memory_order_acquire) != Phase::none) {
    begin_download(worker_);
    begun_.wait_until(kNoDeadline, [this] { return phase_.load(std::memory_order_acquire) == Phase::begun; });
    completion.status = std::exchange(download_status_, Status());
    phase_.store(Phase::none, std::memory_order_relaxed);
  }
  if (completion.status) completion.status = wait_for(done_, worker_);
  if (!completion.status) drain();
  progress_.idle();
  settle_upload();
  settle_download(download_turn_.load(std::memory_order_acquire));
  if (!completion.status) return completion;
  if (around_.bus.upload.waiting() != 0) around_.bus.turns.collect();
  if (staged_) ++staged_frames_;
  for (Place& place : outputs_)
    if (place.copy_to != nullptr) std::memcpy(place.copy_to, place.staging.data(), place.copy_bytes);
  completion.upload_ns = between(kBegin, kUploaded);
  completion.compute_ns = between(kUploaded, kComputed);
  completion.download_ns = between(kComputed, kDone);
  if (completion.compute_ns >= 0 && completion.download_ns >= 0)
    after_upload_ns_ = completion.compute_ns + completion.download_ns;
  return completion;
}

}  // namespace framelane::cuda
