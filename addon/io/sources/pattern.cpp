#include "io/sources/pattern.h"

#include <algorithm>

#include "core/ring.h"
#include "io/fields.h"
#include "io/source_thread.h"
#include "io/sources/pattern_stamp.h"

namespace framelane::io {
namespace {

// Imitates a camera whose driver has the ring's slots queued: while no thread runs, frames go on filling
// slots; those that come when all slots are used up are lost in transport, counted, and their ids skipped.
// Thread-safety: see Source; from start() to stop() the counters belong to the delivering thread.
class PatternSource final : public Source {
 public:
  explicit PatternSource(const PatternConfig& config) : config_(config) {}
  ~PatternSource() override { stop(); }

  Result<FrameFormat> open() override;
  SourceTraits traits() const noexcept override;
  Status announce(Ring& ring) override;
  Status start(FramePort& port) override;
  void stop() noexcept override { thread_.join(); }
  void close() noexcept override {}
  void interrupt() noexcept override {}

 private:
  void run_paced(FramePort& port) noexcept;
  void run_free(FramePort& port) noexcept;
  void deliver(FramePort& port, const FillSlot& slot, MonotonicNs timestamp_ns) noexcept;
  [[nodiscard]] bool ended() const noexcept { return config_.frames && next_id_ >= *config_.frames; }

  const PatternConfig config_;
  SourceThread thread_;
  uint32_t slots_ = 0;
  uint64_t next_id_ = 0;        // goes on over stop() and start()
  bool discontinuity_ = false;  // of the next frame
};

Result<FrameFormat> PatternSource::open() {
  next_id_ = 0;
  discontinuity_ = false;
  return config_.format;
}

SourceTraits PatternSource::traits() const noexcept {
  const bool max = config_.pace == Pace::max;
  return {.live = !max, .paced_max = max, .expected_fps = max ? 0 : config_.fps};
}

Status PatternSource::announce(Ring& ring) {
  slots_ = ring.slots();
  for (SlotIndex slot = 0; slot < slots_; ++slot) {
    const double shift = config_.moving ? static_cast<double>(slot) / slots_ : 0;
    draw_picture(config_.picture, config_.format, shift, ring.slot_data(slot));
  }
  return {};
}

Status PatternSource::start(FramePort& port) {
  discontinuity_ = next_id_ != 0;
  return thread_.start("fl-pattern", [this, &port] {
    if (config_.pace == Pace::max)
      run_free(port);
    else
      run_paced(port);
  });
}

void PatternSource::run_paced(FramePort& port) noexcept {
  const MonotonicNs now_ns = monotonic_now_ns();
  const MonotonicNs origin_ns = config_.phase ? first_due_ns(now_ns, config_.fps, *config_.phase) : now_ns;
  const uint64_t first_id = next_id_;  // due at origin_ns
  while (!ended()) {
    const MonotonicNs due_ns = origin_ns + frame_time_ns(next_id_ - first_id, config_.fps);
    if (!thread_.stop_flag().sleep_until(due_ns)) return;
    uint64_t newest = first_id + frame_index_at(monotonic_now_ns() - origin_ns, config_.fps);
    if (config_.frames) newest = std::min(newest, *config_.frames - 1);
    if (newest >= next_id_ + slots_) {
      const uint64_t skipped = newest - next_id_ + 1 - slots_;
      port.lost(LostReason::transport, skipped);
      next_id_ += skipped;
      discontinuity_ = true;
    }
    if (const std::optional<FillSlot> slot = port.acquire()) {
      deliver(port, *slot, origin_ns + frame_time_ns(next_id_ - first_id, config_.fps));
    } else {
      port.lost(LostReason::ring_full, 1);
      discontinuity_ = true;
    }
    ++next_id_;
  }
  port.finished();
}

void PatternSource::run_free(FramePort& port) noexcept {
  while (!ended()) {
    if (thread_.stop_flag().requested()) return;
    const std::optional<FillSlot> slot = port.acquire_wait();
    if (!slot) return;
    deliver(port, *slot, monotonic_now_ns());
    ++next_id_;
  }
  port.finished();
}

void PatternSource::deliver(FramePort& port, const FillSlot& slot, MonotonicNs timestamp_ns) noexcept {
  write_stamp(slot.data, config_.format, static_cast<uint32_t>(next_id_));
  FrameMeta meta;
  meta.frame_id = next_id_;
  meta.device_timestamp_ns = timestamp_ns;
  meta.width = config_.format.width;
  meta.height = config_.format.height;
  meta.size_bytes = config_.format.bytes();
  meta.discontinuity = discontinuity_;
  meta.arrival_ns = monotonic_now_ns();
  discontinuity_ = false;
  port.deliver(slot.index, meta);
}

}  // namespace

std::unique_ptr<Source> make_pattern_source(const PatternConfig& config) {
  return std::make_unique<PatternSource>(config);
}

Result<std::unique_ptr<Source>> make_pattern_source(const Fields& fields, const std::optional<Phase>& phase) {
  FieldReader reader("pattern", fields);
  PatternConfig config;
  config.phase = phase;
  const auto width = static_cast<uint32_t>(reader.whole("width", 1, kLargestSide));
  const auto height = static_cast<uint32_t>(reader.whole("height", 1, kLargestSide));
  config.format = FrameFormat::packed(reader.pixel_format("format").value_or(PixelFormat::mono8), width, height);
  config.picture = static_cast<Picture>(reader.choice_or("pattern", {"gradient", "checker", "noise", "bars"}, 0));
  config.pace = static_cast<Pace>(reader.choice_or("pace", {"realtime", "max"}, 0));
  config.moving = reader.flag_or("moving", true);
  config.fps = reader.number_or("fps", 0, 100'000, 0);
  if (config.pace == Pace::realtime && !reader.has("fps")) reader.refuse("'fps' is missing");
  if (config.fps != 0 && config.fps < 0.001)
    reader.refuse("'fps' must be 0 (as fast as slots come free) or at least 0.001");
  if (config.fps == 0) config.pace = Pace::max;
  if (reader.has("frames")) config.frames = reader.whole("frames", 1, uint64_t{1} << 53);
  if (reader.has("phase")) config.phase = Phase{.part = reader.number_or("phase", 0, 1, 0)};
  if (Status read = reader.finish(); !read) return read.error();
  return make_pattern_source(config);
}

}  // namespace framelane::io
