// One lane of a channel on a GPU: a stream, the frame's buffers on the device, and the captured kernels.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/pipeline.h"
#include "core/signal.h"
#include "cuda/bus.h"
#include "cuda/context.h"
#include "cuda/device_cache.h"
#include "cuda/frame_copy.h"
#include "cuda/host_memory.h"
#include "cuda/kernel_program.h"
#include "cuda/stream_cache.h"
#include "cuda/watch.h"

namespace framelane::cuda {

// What the lanes of one pipeline share. Thread-safety: immutable but for `program`, which is the worker's.
struct LaneSurroundings {
  const Context& context;
  DeviceCache& cache;
  HostMemory& host;
  Watch& watch;
  Bus& bus;
  KernelProgram& program;
  ServiceWishes wishes;
  std::string channel;
  bool replay = true;
};

// Thread-safety: the pipeline's; one thread at a time, with the context current.
class Lane {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Lane>> open(const LaneSurroundings& around);
  ~Lane();  // waits for what is on the stream, unless the device is lost
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Runs the kernels once on what lies in the buffers, then captures them: the first frame is a replay. Waits for the
  // stream. An error: the kernels cannot run at all.
  [[nodiscard]] Status warm_up();

  // A frame's first step: how many bytes of it go up to the device; they must be admitted before submit().
  [[nodiscard]] Result<uint64_t> prepare(const Job& job) noexcept;
  // Upload, kernels, download; returns when they are on the stream. The download is not when the bus has no room for it
  // now, or `may_download` is false: then it is begun when the kernels are done and it is its turn, by whoever waits
  // for the lane. On an error nothing of the frame is on the stream any more: it has been waited for.
  [[nodiscard]] Status submit(const Job& job, uint64_t upload_bytes, bool may_download) noexcept;
  // False: the upload is not over. It is waited for where its turn on the bus would be kept for long.
  [[nodiscard]] bool inputs_read() noexcept;
  // Waits for the upload and gives its turn back; false: there was none.
  bool finish_upload() noexcept;
  [[nodiscard]] bool download_waits() const noexcept {
    const Phase phase = phase_.load(std::memory_order_acquire);
    return phase == Phase::waiting || phase == Phase::claimed;
  }
  // `begins`: no other thread waits for the lane; a download whose turn it is is begun.
  [[nodiscard]] bool done(bool begins) noexcept;
  [[nodiscard]] Completion wait() noexcept;

  // For the thread that tells the worker: sleeps until the frame that was submitted last is finished.
  void wait_done() noexcept;

  // What was captured has old parameters from here on.
  void forget_graph() noexcept { stale_ = true; }

  // How the last frame ran.
  [[nodiscard]] Replay replay() const noexcept { return graph_ && !smaller_ ? Replay::captured : Replay::direct; }
  [[nodiscard]] ReplayObstacle obstacle() const noexcept {
    return smaller_ && obstacle_ == ReplayObstacle::none ? ReplayObstacle::varying_extents : obstacle_;
  }
  [[nodiscard]] uint64_t captures() const noexcept { return captures_; }
  [[nodiscard]] uint64_t staged_frames() const noexcept { return staged_frames_; }

 private:
  // The points in time of a frame on the device.
  enum Point : size_t { kBegin, kUploaded, kComputed, kDone, kPoints };

  // One input's or output's place on the device and, for host memory that is not pinned, on the way there.
  struct Place {
    FrameFormat largest;
    CUdeviceptr data = 0;
    Region region;  // of an input: what is read
    PinnedBlock staging;
    HostRange pinned;                      // where the last frames' slots lay
    const std::byte* copy_from = nullptr;  // an input's slot, or its staging buffer
    std::byte* copy_to = nullptr;          // an output's slot that is filled from the staging buffer in wait()
    size_t copy_bytes = 0;
  };

  explicit Lane(const LaneSurroundings& around) : around_(around) {}
  [[nodiscard]] Status set_up();
  [[nodiscard]] Status take_places(std::span<const FrameFormat> formats, std::vector<Place>& places,
                                   std::vector<DeviceFrame>& frames);

  // Of a download that was not put on the stream with its frame. claimed: by the one thread that begins it.
  enum class Phase : uint8_t { none, waiting, claimed, begun };

  [[nodiscard]] Status enqueue(const Job& job, bool may_download) noexcept;
  [[nodiscard]] Status upload_all(const Job& job) noexcept;
  [[nodiscard]] Status run_kernels() noexcept;
  [[nodiscard]] Status download_all() noexcept;
  [[nodiscard]] uint64_t download_bytes() const noexcept;
  [[nodiscard]] bool claim_download() noexcept;
  void begin_download(Completions::Ticket& ticket) noexcept;
  void put_download(uint64_t bytes) noexcept;
  void wait_upload() noexcept;
  void settle_upload() noexcept;
  void settle_download(uint64_t turn) noexcept;
  // Where a copy may go to or come from: the slot itself, or the place's staging buffer.
  [[nodiscard]] Result<std::byte*> pinned(Place& place, std::byte* slot, size_t bytes) noexcept;

  [[nodiscard]] Status capture() noexcept;
  [[nodiscard]] Status try_capture() noexcept;
  void drop_graph() noexcept;

  [[nodiscard]] Status mark(Point point) noexcept;
  [[nodiscard]] Status record(const Event& event) noexcept;
  [[nodiscard]] Status failed(const char* call, CUresult result) const noexcept;
  [[nodiscard]] Status wait_for(const Event& event, Completions::Ticket& ticket) const noexcept;
  void drain() noexcept;
  [[nodiscard]] int64_t between(Point from, Point to) const noexcept;  // ns; -1: not measured
  [[nodiscard]] LaunchPlace launch_place() const noexcept {
    return {around_.context.handle(), stream_.get(), memory_.get()};
  }

  const LaneSurroundings& around_;
  const Driver& driver_ = around_.context.driver();
  Stream stream_;
  std::unique_ptr<StreamCache> memory_;
  Event uploaded_, done_;     // of every frame
  Event computed_;            // of one whose download waits
  std::vector<Event> timed_;  // of one frame in kTimedEvery
  std::vector<Place> inputs_, outputs_;
  std::vector<DeviceFrame> input_frames_, output_frames_;  // of the frame in flight
  std::vector<FrameFormat> input_formats_;
  std::vector<FrameView> wanted_;  // the outputs' slots
  Urgency urgency_;

  std::optional<HeldBlocks> held_;
  GraphExec graph_;
  bool stale_ = true;
  bool smaller_ = false;  // the last frame, than what is captured
  ReplayObstacle obstacle_ = ReplayObstacle::none;
  uint64_t captures_ = 0, staged_frames_ = 0, frames_ = 0;

  bool timing_ = false;  // the frame in flight
  bool staged_ = false;

  // Turns on the bus that are not given back yet. Upwards: the worker's, or that of who collects. Downwards: whoever
  // sees the frame's end first gives it back.
  uint64_t upload_turn_bytes_ = 0;  // without a place among the turns
  UploadTurns::Turn upload_turn_;
  int64_t after_upload_ns_ = kNoDeadline;  // kernels and download of the last frame that was measured
  std::atomic<uint64_t> download_turn_{0};
  std::atomic<Phase> phase_{Phase::none};
  Status download_status_;  // of who claimed the download, until it has begun
  Admission::Ticket ticket_;
  Completions::Ticket worker_, teller_;  // of the thread that waits
  Signal begun_;
  LaneProgress progress_;
};

}  // namespace framelane::cuda
