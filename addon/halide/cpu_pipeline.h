// A pipeline on the CPU: one frame is one call of compiled code on the channel's worker thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/pipeline.h"
#include "halide/arena.h"
#include "halide/call_arguments.h"
#include "halide/compiled_code.h"
#include "halide/frame_context.h"
#include "halide/plan.h"
#include "halide/thread_pool.h"

namespace framelane::halide {

// Thread-safety: as Pipeline says. The compiled code is shared with other channels, all else is its own.
class CpuPipeline final : public Pipeline {
 public:
  CpuPipeline(Plan plan, std::shared_ptr<const CompiledCode> code, uint32_t lanes, uint32_t threads);
  ~CpuPipeline() override;

  // Runs one frame of the largest extent on memory of its own, so that later ones find their blocks.
  [[nodiscard]] Status warm_up();

  [[nodiscard]] std::span<const FrameFormat> outputs() const noexcept override { return {&plan_.output, 1}; }
  [[nodiscard]] uint32_t lanes() const noexcept override { return static_cast<uint32_t>(lanes_.size()); }
  [[nodiscard]] FrameFormat output_for(size_t index, std::span<const FrameFormat> inputs) const noexcept override;
  Status submit(LaneIndex lane, const Job& job) noexcept override;
  [[nodiscard]] bool inputs_read(LaneIndex) noexcept override { return true; }  // by submit()
  [[nodiscard]] bool done(LaneIndex) noexcept override { return true; }
  [[nodiscard]] Completion wait(LaneIndex lane) noexcept override;
  [[nodiscard]] std::vector<ParameterInfo> parameters() const override { return arguments_.parameters(); }
  Status set_parameter(const std::string& name, double value) noexcept override {
    return arguments_.set_parameter(name, value);
  }
  void reset_state() noexcept override {}  // no operation keeps any

 private:
  [[nodiscard]] Status check(const Job& job, const FrameFormat& wanted) const noexcept;
  [[nodiscard]] Status run(const FrameView& input, const FrameView& output) noexcept;

  Plan plan_;
  std::shared_ptr<const CompiledCode> code_;
  Arena arena_;
  ThreadPool pool_;
  FrameContext context_;
  std::vector<Completion> lanes_;

  CallArguments arguments_;

  // Where results go that nobody wants: address space only, until it is used.
  std::byte* unwanted_ = nullptr;
};

}  // namespace framelane::halide
