// A source that does what a script says.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/ring.h"
#include "core/signal.h"
#include "core/source.h"

namespace framelane::fakes {

enum class ScriptEnd : uint8_t { none, finish, fail, change_format };

struct SourceScript {
  FrameFormat format = FrameFormat::packed(PixelFormat::mono8, 64, 16);
  SourceTraits traits{true, false, 0};
  uint64_t frames = UINT64_MAX;     // then `end`
  int64_t interval_ns = 1'000'000;  // 0: as fast as it goes
  bool wait_for_slot = false;       // pace: max
  ScriptEnd end = ScriptEnd::finish;
  FrameFormat next_format;  // after change_format; it then delivers `frames` more and ends as `end_after`
  ScriptEnd end_after = ScriptEnd::finish;
  Error failure{ErrorCode::source_lost, "the fake went away"};
  Status open_status;
  bool hang_in_open = false;             // until interrupt()
  std::map<uint64_t, uint64_t> id_gaps;  // after frame n, so many ids are skipped
  uint64_t short_height_every = 0;       // every n-th frame is one row high
  std::function<void(uint64_t id)> before_frame;
  std::function<void()> on_look;
};

// Each frame's bytes all equal its id's lowest byte. What it offered is counted in `offered`, shared with the test.
// Thread-safety: as Source says; `offered` from any thread.
class FakeSource final : public Source {
 public:
  FakeSource(SourceScript script, std::shared_ptr<std::atomic<uint64_t>> offered)
      : script_(std::move(script)), offered_(std::move(offered)) {}
  ~FakeSource() override { stop(); }

  Result<FrameFormat> open() override {
    if (script_.hang_in_open) {
      signal_.wait_until(kNoDeadline, [this] { return interrupted_.load(); });
      return Error{ErrorCode::source_unavailable, "the fake was interrupted"};
    }
    if (!script_.open_status) return script_.open_status.error();
    return script_.format;
  }
  SourceTraits traits() const noexcept override { return script_.traits; }
  Status announce(Ring& ring) override {
    if (ring.slot_stride_bytes() < format().bytes()) {
      return Error{ErrorCode::internal, "the announced slots are smaller than a frame"};
    }
    return {};
  }
  Status start(FramePort& port) override {
    stopping_.store(false);
    thread_ = std::thread([this, &port] { deliver(port); });
    return {};
  }
  void look(FramePort&) noexcept override {
    if (script_.on_look) script_.on_look();
  }
  void stop() noexcept override {
    stopping_.store(true);
    signal_.notify();
    if (thread_.joinable()) thread_.join();
  }
  void close() noexcept override {}
  void interrupt() noexcept override {
    interrupted_.store(true);
    signal_.notify();
  }

 private:
  const FrameFormat& format() const noexcept { return changed_ ? script_.next_format : script_.format; }

  void deliver(FramePort& port) {
    MonotonicNs due = monotonic_now_ns();
    while (delivered_ < script_.frames) {
      if (stopping_.load() || port.stopping()) return;
      if (script_.interval_ns > 0) {
        due += script_.interval_ns;
        signal_.wait_until(due, [this] { return stopping_.load(); });
        if (stopping_.load()) return;
      }
      if (script_.before_frame) script_.before_frame(id_);
      offer(port);
      ++delivered_;
    }
    end(port);
  }

  void offer(FramePort& port) {
    const std::optional<FillSlot> slot = script_.wait_for_slot ? port.acquire_wait() : port.acquire();
    if (!slot && script_.wait_for_slot) return;
    offered_->fetch_add(1);
    const uint64_t id = id_++;
    if (const auto gap = script_.id_gaps.find(id); gap != script_.id_gaps.end()) id_ += gap->second;
    if (!slot) {
      port.lost(LostReason::ring_full, 1);
      return;
    }
    FrameMeta meta;
    meta.frame_id = id;
    meta.width = format().width;
    meta.height = script_.short_height_every != 0 && id % script_.short_height_every == 0 ? 1 : format().height;
    meta.size_bytes = format().row_stride_bytes * meta.height;
    std::memset(slot->data, static_cast<int>(id & 0xff), meta.size_bytes);
    meta.arrival_ns = monotonic_now_ns();
    meta.discontinuity = id == 0;
    port.deliver(slot->index, meta);
  }

  void end(FramePort& port) {
    switch (changed_ ? script_.end_after : script_.end) {
      case ScriptEnd::finish: port.finished(); break;
      case ScriptEnd::fail: port.failed(script_.failure); break;
      case ScriptEnd::change_format:
        changed_ = true;
        delivered_ = 0;
        port.format_changed(script_.next_format);
        break;
      case ScriptEnd::none: signal_.wait_until(kNoDeadline, [this] { return stopping_.load(); });
    }
  }

  const SourceScript script_;
  const std::shared_ptr<std::atomic<uint64_t>> offered_;
  Signal signal_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> interrupted_{false};
  bool changed_ = false;
  uint64_t delivered_ = 0;
  uint64_t id_ = 0;
  std::thread thread_;
};

}  // namespace framelane::fakes
