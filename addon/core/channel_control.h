// What control threads want from a channel, kept until its worker looks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/attention.h"
#include "core/pipeline.h"
#include "core/source.h"

namespace framelane {

// Thread-safety: the command functions from any control thread, the others from the worker. What the worker reads
// for every frame is atomic; the mutex is taken only after a command.
class ChannelControl {
 public:
  enum class Wish : uint8_t { idle, run, stop, quit };
  using ParameterChange = std::pair<std::string, double>;

  ChannelControl(std::string channel, std::shared_ptr<Attention> attention)
      : channel_(std::move(channel)), attention_(std::move(attention)) {}

  // Commands.
  void start();
  void stop();
  void restart();
  void quit();
  void replace_pipeline(PipelineSpec spec);
  Status set_parameter(const std::string& name, double value);
  [[nodiscard]] std::vector<ParameterInfo> parameters() const;
  // Repeats the interruption of a source that is being opened and has not noticed the first one.
  void interrupt_source();

  // The worker's side.
  [[nodiscard]] Wish wish() const noexcept { return wish_.load(); }
  [[nodiscard]] bool must_leave() const noexcept {
    return wish() != Wish::run || restart_.load(std::memory_order_acquire);
  }
  // True once after restart().
  [[nodiscard]] bool take_restart() noexcept { return restart_.exchange(false, std::memory_order_acq_rel); }
  // Changes with every start(), stop(), restart() and quit().
  [[nodiscard]] uint64_t commands() const noexcept { return commands_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_replacement() const noexcept { return has_replacement_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<PipelineSpec> take_replacement();

  // Publishes the parameters of a new pipeline. `keep`: the pipeline is the former one compiled again, so what was
  // set by hand is set again; else it is forgotten.
  void install(Pipeline& pipeline, bool keep);
  void uninstall();
  // Applies what was set since; a refusal is returned.
  Status apply_parameters(Pipeline& pipeline);

  // Opens the source so that stop(), restart() and quit() can interrupt it; empty: no longer wanted.
  [[nodiscard]] std::optional<Result<FrameFormat>> open(Source& source);

 private:
  void command(Wish wish);

  const std::string channel_;
  const std::shared_ptr<Attention> attention_;
  std::atomic<Wish> wish_{Wish::idle};
  std::atomic<bool> restart_{false};
  std::atomic<uint64_t> commands_{0};
  std::atomic<bool> has_replacement_{false};
  std::atomic<bool> has_changes_{false};

  mutable std::mutex mutex_;
  std::optional<PipelineSpec> replacement_;
  bool installed_ = false;
  std::vector<ParameterInfo> parameters_;
  std::map<std::string, double> set_by_hand_;
  std::vector<ParameterChange> changes_;

  std::mutex source_mutex_;
  Source* opening_ = nullptr;
};

}  // namespace framelane
