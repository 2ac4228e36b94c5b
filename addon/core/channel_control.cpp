#include "core/channel_control.h"

#include <algorithm>

namespace framelane {

void ChannelControl::command(Wish wish) {
  if (this->wish() != Wish::quit) wish_.store(wish);
  commands_.fetch_add(1, std::memory_order_acq_rel);
  attention_->raise();
  if (must_leave()) interrupt_source();
}

void ChannelControl::start() {
  command(Wish::run);
}
void ChannelControl::stop() {
  command(Wish::stop);
}
void ChannelControl::quit() {
  command(Wish::quit);
}

void ChannelControl::restart() {
  restart_.store(true, std::memory_order_release);
  command(Wish::run);
}

void ChannelControl::interrupt_source() {
  const std::lock_guard lock(source_mutex_);
  if (opening_ != nullptr) opening_->interrupt();
}

std::optional<Result<FrameFormat>> ChannelControl::open(Source& source) {
  {
    const std::lock_guard lock(source_mutex_);
    if (must_leave()) return std::nullopt;
    opening_ = &source;
  }
  Result<FrameFormat> format = source.open();
  const std::lock_guard lock(source_mutex_);
  opening_ = nullptr;
  return format;
}

void ChannelControl::replace_pipeline(PipelineSpec spec) {
  {
    const std::lock_guard lock(mutex_);
    replacement_ = std::move(spec);
    has_replacement_.store(true, std::memory_order_release);
  }
  attention_->raise();
}

std::optional<PipelineSpec> ChannelControl::take_replacement() {
  if (!has_replacement()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  has_replacement_.store(false, std::memory_order_release);
  return std::exchange(replacement_, std::nullopt);
}

Status ChannelControl::set_parameter(const std::string& name, double value) {
  {
    const std::lock_guard lock(mutex_);
    if (!installed_) {
      return Error{ErrorCode::unsupported,
                   "channel " + channel_ + " has no running pipeline whose parameters could be set"};
    }
    const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const ParameterInfo& parameter) { return parameter.name == name; });
    if (found == parameters_.end()) {
      return Error{ErrorCode::invalid_argument, "the pipeline of channel " + channel_ + " has no parameter " + name};
    }
    if (!(value >= found->minimum && value <= found->maximum)) {  // also refuses NaN
      return Error{ErrorCode::invalid_argument, "parameter " + name + " of channel " + channel_ + " takes " +
                                                    std::to_string(found->minimum) + " to " +
                                                    std::to_string(found->maximum)};
    }
    found->value = value;
    set_by_hand_[name] = value;
    changes_.emplace_back(name, value);
    has_changes_.store(true, std::memory_order_release);
  }
  attention_->raise();
  return {};
}

std::vector<ParameterInfo> ChannelControl::parameters() const {
  const std::lock_guard lock(mutex_);
  return parameters_;
}

void ChannelControl::install(Pipeline& pipeline, bool keep) {
  const std::lock_guard lock(mutex_);
  if (!keep) set_by_hand_.clear();
  // A value that the pipeline no longer takes is left at the pipeline's own.
  for (const auto& [name, value] : set_by_hand_) (void)pipeline.set_parameter(name, value);
  changes_.clear();
  has_changes_.store(false, std::memory_order_release);
  parameters_ = pipeline.parameters();
  installed_ = true;
}

void ChannelControl::uninstall() {
  const std::lock_guard lock(mutex_);
  installed_ = false;
}

Status ChannelControl::apply_parameters(Pipeline& pipeline) {
  if (!has_changes_.load(std::memory_order_acquire)) return {};
  std::vector<ParameterChange> changes;
  {
    const std::lock_guard lock(mutex_);
    changes.swap(changes_);
    has_changes_.store(false, std::memory_order_release);
  }
  Status result;
  for (const auto& [name, value] : changes) {
    if (Status set = pipeline.set_parameter(name, value); !set) result = set;
  }
  return result;
}

}  // namespace framelane
