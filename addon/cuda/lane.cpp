#include "cuda/lane.h"

#include <algorithm>

namespace framelane::cuda {
Result<std::unique_ptr<Lane>> Lane::open(const LaneSurroundings& around) {
  std::unique_ptr<Lane> lane(new Lane(around));
  if (Status status = lane->set_up(); !status) return status.error();
  return lane;
}

Status Lane::take_places(std::span<const FrameFormat> formats, std::vector<Place>& places,
                         std::vector<DeviceFrame>& frames) {
  for (const FrameFormat& format : formats) {
    Place place;
    place.largest = device_format(format);
    Result<CUdeviceptr> block = memory_->allocate(std::max<size_t>(place.largest.bytes(), 1));
    if (!block) return block.error();
    place.data = block.value();
    frames.push_back({place.data, place.largest});
    places.push_back(std::move(place));
  }
  return {};
}

Status Lane::set_up() {
  Result<Stream> stream = make_stream(driver_);
  if (!stream) return stream.error();
  stream_ = stream.take();
  Result<std::unique_ptr<StreamCache>> memory = around_.cache.open_stream(stream_.get(), around_.channel);
  if (!memory) return memory.error();
  memory_ = memory.take();
  for (Event* event : {&uploaded_, &computed_, &done_}) {
    Result<Event> made = make_event(driver_, false);
    if (!made) return made.error();
    *event = made.take();
  }
  for (size_t point = 0; point < kPoints; ++point) {
    Result<Event> made = make_event(driver_, true);
    if (!made) return made.error();
    timed_.push_back(made.take());
  }
  if (Status status = take_places(around_.program.inputs(), inputs_, input_frames_); !status) return status;
  if (Status status = take_places(around_.program.outputs(), outputs_, output_frames_); !status) return status;
  wanted_.resize(outputs_.size());
  input_formats_.assign(around_.program.inputs().begin(), around_.program.inputs().end());
  progress_.channel = around_.channel;
  around_.watch.add(progress_);
  return {};
}

Lane::~Lane() {
  around_.watch.remove(progress_);
  drain();
  settle_upload();
  settle_download(download_turn_.load());
  drop_graph();
  if (memory_ == nullptr) return;
  for (const std::vector<Place>* places : {&inputs_, &outputs_})
    for (const Place& place : *places) std::ignore = memory_->release(place.data);
}

Status Lane::failed(const char* call, CUresult result) const noexcept {
  Error error = driver_.error(call, result);
  if (error.code == ErrorCode::device_lost) around_.watch.report(error);
  return error;
}

void Lane::drain() noexcept {
  if (!stream_ || around_.watch.lost()) return;
  progress_.calling();
  if (const CUresult result = driver_.cuStreamSynchronize(stream_.get()); result != CUDA_SUCCESS)
    std::ignore = failed("cuStreamSynchronize", result);
  progress_.idle();
}

Status Lane::warm_up() {
  Status status = around_.program.enqueue(launch_place(), input_frames_, output_frames_);
  if (status) status = record(done_);
  if (!status) {
    drain();
    return status;
  }
  // A kernel that never ends does so in its first run.
  progress_.on_device(done_);
  const CUresult result = driver_.cuStreamSynchronize(stream_.get());
  progress_.idle();
  if (result != CUDA_SUCCESS) return failed("the pipeline's first run", result);
  return capture();
}

// An error: the device is lost. Whatever else hinders it, frames run directly.
Status Lane::capture() noexcept {
  stale_ = false;
  drop_graph();
  if (!around_.replay || !around_.program.not_replayable().empty()) {
    obstacle_ = around_.replay ? ReplayObstacle::not_replayable : ReplayObstacle::switched_off;
    return {};
  }
  Status status = try_capture();
  if (!status && status.error().code != ErrorCode::device_lost) status = try_capture();
  if (status) {
    obstacle_ = ReplayObstacle::none;
    return {};
  }
  drop_graph();
  const ErrorCode code = status.error().code;
  const bool full = code == ErrorCode::out_of_memory || code == ErrorCode::over_limit;
  obstacle_ = full ? ReplayObstacle::out_of_memory : ReplayObstacle::capture_failed;
  return around_.watch.lost() ? status : Status();
}

Status Lane::try_capture() noexcept {
  if (Status status = memory_->begin_hold(); !status) return status;
  CUresult result = driver_.cuStreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (result != CUDA_SUCCESS) {
    memory_->abort_hold();
    return failed("cuStreamBeginCapture", result);
  }
  const Status enqueued = around_.program.enqueue(launch_place(), input_frames_, output_frames_);
  CUgraph captured = nullptr;
  result = driver_.cuStreamEndCapture(stream_.get(), &captured);
  const Graph graph(driver_, captured);
  CUgraphExec exec = nullptr;
  if (enqueued.ok() && result == CUDA_SUCCESS) result = driver_.cuGraphInstantiate(&exec, captured, 0);
  if (!enqueued || result != CUDA_SUCCESS) {
    memory_->abort_hold();
    return enqueued ? failed("the capture of the kernels", result) : enqueued;
  }
  graph_ = GraphExec(driver_, exec);
  Result<HeldBlocks> held = memory_->end_hold();
  if (!held) {
    graph_.reset();
    return held.error();
  }
  held_ = held.take();
  ++captures_;
  // Its memory on the device comes now and not with the first frame.
  if (result = driver_.cuGraphUpload(graph_.get(), stream_.get()); result != CUDA_SUCCESS)
    return failed("cuGraphUpload", result);
  return {};
}

void Lane::drop_graph() noexcept {
  graph_.reset();
  held_.reset();
}

}  // namespace framelane::cuda
