#include "core/channel.h"

#include "core/channel_worker.h"

namespace framelane {

Channel::Channel(ChannelSpec spec, Device& device, CompileService& compile, stats::ChannelBlock& block,
                 EventListener& events)
    : worker_(std::make_unique<Worker>(std::move(spec), device, compile, block, events)) {}

Channel::~Channel() = default;

void Channel::start() {
  worker_->control().start();
}
void Channel::stop() {
  worker_->control().stop();
}
void Channel::join() {
  worker_->join();
}
void Channel::restart() {
  worker_->control().restart();
}

Status Channel::set_parameter(const std::string& name, double value) {
  return worker_->control().set_parameter(name, value);
}

std::vector<ParameterInfo> Channel::parameters() const {
  return worker_->control().parameters();
}
void Channel::replace_pipeline(PipelineSpec spec) {
  worker_->control().replace_pipeline(std::move(spec));
}
ChannelState Channel::state() const noexcept {
  return worker_->reporter().state();
}
const ChannelSpec& Channel::spec() const noexcept {
  return worker_->spec();
}

}  // namespace framelane
