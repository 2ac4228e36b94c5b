// A channel's pipeline on a GPU.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/pipeline.h"
#include "core/signal.h"
#include "cuda/lane.h"

namespace framelane::cuda {

// What a device lends to all its pipelines; outlives them.
struct DeviceParts {
  const Context& context;
  DeviceCache& cache;
  HostMemory& host;
  Watch& watch;
  Bus& bus;
  bool replay = true;  // false: nothing is captured
};

// Thread-safety: as Pipeline says.
class CudaPipeline final : public Pipeline {
 public:
  static constexpr uint32_t kMostLanes = 8;

  // On a compile thread: takes device memory, runs the kernels once and captures them.
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> open(const DeviceParts& parts,
                                                              std::unique_ptr<KernelProgram> program,
                                                              const PipelineRequest& request);
  ~CudaPipeline() override;

  [[nodiscard]] std::span<const FrameFormat> outputs() const noexcept override { return program_->outputs(); }
  [[nodiscard]] uint32_t lanes() const noexcept override { return static_cast<uint32_t>(lanes_.size()); }
  [[nodiscard]] FrameFormat output_for(size_t index, std::span<const FrameFormat> inputs) const noexcept override {
    return program_->output_for(index, inputs);
  }
  Status submit(LaneIndex lane, const Job& job) noexcept override;
  [[nodiscard]] bool inputs_read(LaneIndex lane) noexcept override { return lanes_[lane]->inputs_read(); }
  [[nodiscard]] bool done(LaneIndex lane) noexcept override { return lanes_[lane]->done((told_ >> lane & 1U) == 0); }
  [[nodiscard]] Completion wait(LaneIndex lane) noexcept override;
  [[nodiscard]] bool notify(LaneListener* listener) noexcept override;
  void tell(LaneIndex lane) noexcept override;
  [[nodiscard]] PipelineReport report() const noexcept override;
  [[nodiscard]] std::vector<ParameterInfo> parameters() const override { return program_->parameters(); }
  Status set_parameter(const std::string& name, double value) noexcept override;
  void reset_state() noexcept override { program_->reset_state(); }

 private:
  CudaPipeline(const DeviceParts& parts, std::unique_ptr<KernelProgram> program, const PipelineRequest& request);
  [[nodiscard]] Status check(const Job& job) const noexcept;
  [[nodiscard]] Status admit(LaneIndex lane, const Job& job, uint64_t bytes) noexcept;
  [[nodiscard]] bool download_waits() const noexcept;
  void begin_downloads(LaneIndex oldest) noexcept;
  void tell_lanes();  // the telling thread
  void end_telling() noexcept;

  const std::unique_ptr<KernelProgram> program_;
  const LaneSurroundings around_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Admission::Ticket upload_ticket_;  // the worker's

  // With more than one lane: sleeps for a frame's end, so that the worker may sleep for a new frame as well.
  LaneListener* listener_ = nullptr;
  uint32_t told_ = 0;                 // the worker's: a bit for each lane whose frame is to be told of
  std::atomic<uint32_t> to_tell_{0};  // those among them that the telling thread has not taken
  Signal tell_;
  std::atomic<bool> ending_{false};
  std::thread teller_;
};

}  // namespace framelane::cuda
