// The source's side of a channel's ring, with its accounting.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/attention.h"
#include "core/error.h"
#include "core/event_reporter.h"
#include "core/refill_pace.h"
#include "core/ring.h"
#include "core/source.h"
#include "core/stats_layout.h"

namespace framelane {

enum class SourceEnd : uint8_t { none, finished, failed, format_changed };

// Thread-safety: the FramePort functions on the source's delivering thread; the others on the worker's.
class RingPort final : public FramePort {
 public:
  // `events` hears the source's notices; it outlives the port.
  RingPort(stats::SourceGroup& cells, std::shared_ptr<Attention> attention, EventReporter& events) noexcept
      : cells_(cells), attention_(std::move(attention)), events_(events) {}

  // Before Source::start(): the ring to fill and what its slots hold. The ring outlives the source's run.
  void begin(Ring& ring, const FrameFormat& format, HandlingMode handling) noexcept;
  // Before Source::stop(): ends a wait in acquire_wait().
  void request_stop() noexcept;

  [[nodiscard]] SourceEnd end() const noexcept { return end_.load(std::memory_order_acquire); }
  [[nodiscard]] const Error& error() const noexcept { return error_; }                  // after `failed`
  [[nodiscard]] const FrameFormat& new_format() const noexcept { return new_format_; }  // after `format_changed`

  [[nodiscard]] std::optional<FillSlot> acquire() noexcept override;
  [[nodiscard]] std::optional<FillSlot> acquire_wait() noexcept override;
  void deliver(SlotIndex slot, const FrameMeta& meta) noexcept override;
  void cancel(SlotIndex slot) noexcept override;
  void lost(LostReason reason, uint64_t frames) noexcept override;
  void notice(const Error& error) noexcept override { events_.report(error.code, error.message); }
  void finished() noexcept override;
  void failed(Error error) noexcept override;
  void format_changed(const FrameFormat& format) noexcept override;
  [[nodiscard]] bool stopping() const noexcept override;

 private:
  [[nodiscard]] uint64_t id_gap_before(const FrameMeta& meta) noexcept;
  [[nodiscard]] FillSlot fill(SlotIndex slot) const noexcept;
  void end_with(SourceEnd end) noexcept;

  stats::SourceGroup& cells_;
  const std::shared_ptr<Attention> attention_;
  EventReporter& events_;
  std::atomic<bool> stopping_{false};

  // Set by begin(), read by the source's thread.
  Ring* ring_ = nullptr;
  FrameFormat format_;
  HandlingMode handling_ = HandlingMode::oldest_first;

  // The source's thread.
  bool has_last_id_ = false;
  uint64_t last_id_ = 0;
  uint64_t lost_since_ = 0;  // since the last delivered frame: their ids are missing for a known reason
  RefillPace refill_pace_;

  // Written by the source's thread before `end_`, read by the worker after it.
  Error error_;
  FrameFormat new_format_;
  std::atomic<SourceEnd> end_{SourceEnd::none};
};

}  // namespace framelane
