#include "core/sink_set.h"

#include <algorithm>

#include "core/stats_writer.h"

namespace framelane {
namespace {

bool has_thread(const SinkSpec& spec) noexcept {
  return spec.make != nullptr && !spec.threadless;
}

}  // namespace

uint32_t SinkSet::slots_held(const std::vector<SinkSpec>& specs) noexcept {
  uint32_t slots = 0;
  for (const SinkSpec& spec : specs) {
    if (has_thread(spec)) slots += std::max<uint32_t>(1, spec.queue) + 1;  // and the one that it writes
  }
  return slots;
}

bool SinkSet::want_host(const std::vector<SinkSpec>& specs) noexcept {
  return std::any_of(specs.begin(), specs.end(), [](const SinkSpec& spec) { return spec.wants_host; });
}

SinkSet::SinkSet(const ChannelSpec& spec, stats::ChannelBlock& block, EventReporter& events,
                 std::shared_ptr<Attention> attention)
    : spec_(spec), block_(block), events_(events), attention_(std::move(attention)), taps_(spec.sinks.size()) {}

void SinkSet::open(const FrameFormat& format, const std::shared_ptr<OutputPool>& pool) {
  for (size_t i = 0; i < taps_.size(); ++i) {
    const SinkSpec& sink = spec_.sinks[i];
    if (pool == nullptr || !sink.wants_host || !has_thread(sink)) continue;
    taps_[i].runner =
        std::make_unique<SinkRunner>(SinkRunnerConfig{spec_.name, sink, format, spec_.retry, static_cast<int32_t>(i)},
                                     pool, block_.sinks[i], events_, attention_, std::move(taps_[i].runner));
  }
}

void SinkSet::finish() noexcept {
  for (Tap& tap : taps_) {
    if (tap.runner != nullptr) tap.runner->ask_to_finish();
  }
  for (Tap& tap : taps_) tap.runner.reset();
}

SinkMask SinkSet::choose() noexcept {
  SinkMask mask = 0;
  for (size_t i = 0; i < taps_.size(); ++i) {
    if (!spec_.sinks[i].wants_host) continue;
    if (taps_[i].until_next > 0) {
      --taps_[i].until_next;
      continue;
    }
    taps_[i].until_next = std::max<uint32_t>(1, spec_.sinks[i].every) - 1;
    mask |= SinkMask{1} << i;
  }
  return mask;
}

void SinkSet::missed(SinkMask mask) noexcept {
  for (size_t i = 0; i < taps_.size(); ++i) {
    if ((mask >> i & 1) != 0) taps_[i].until_next = 0;
  }
}

void SinkSet::deliver(SinkMask mask, uint32_t slot, size_t bytes, const std::function<bool()>& leave) noexcept {
  for (size_t i = 0; i < taps_.size(); ++i) {
    if ((mask >> i & 1) == 0) continue;
    if (taps_[i].runner != nullptr) {
      taps_[i].runner->offer(slot, leave);
    } else {
      stats::add_alone(block_.sinks[i].written);
      stats::add_alone(block_.sinks[i].written_bytes, bytes);
    }
  }
}

}  // namespace framelane
