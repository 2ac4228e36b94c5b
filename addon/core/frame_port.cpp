#include "core/frame_port.h"

#include <algorithm>

#include "core/signal.h"
#include "core/stats_writer.h"

namespace framelane {
namespace {

// A jump of more ids than any pause explains is the device's counter starting elsewhere, not loss.
constexpr uint64_t kLargestIdGap = 1'000'000;

}  // namespace

void RingPort::begin(Ring& ring, const FrameFormat& format, HandlingMode handling) noexcept {
  ring_ = &ring;
  format_ = format;
  handling_ = handling;
  has_last_id_ = false;
  lost_since_ = 0;
  refill_pace_ = {};
  stopping_.store(false, std::memory_order_relaxed);
  end_.store(SourceEnd::none, std::memory_order_relaxed);
}

void RingPort::request_stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  ring_->wake_source();
}

bool RingPort::stopping() const noexcept {
  return stopping_.load(std::memory_order_acquire);
}

FillSlot RingPort::fill(SlotIndex slot) const noexcept {
  return {slot, ring_->slot_data(slot), ring_->slot_stride_bytes()};
}

std::optional<FillSlot> RingPort::acquire() noexcept {
  const std::optional<Ring::Acquired> acquired = ring_->acquire();
  if (!acquired) return std::nullopt;
  if (acquired->overwrote) {
    stats::Update update(cells_.sequence);
    update.add(handling_ == HandlingMode::newest_only ? cells_.dropped_superseded : cells_.dropped_overwritten);
  }
  return fill(acquired->slot);
}

std::optional<FillSlot> RingPort::acquire_wait() noexcept {
  while (!stopping()) {
    if (const auto slot = ring_->acquire_free(0)) return fill(*slot);
    const MonotonicNs now = monotonic_now_ns();
    const int64_t nap_ns = refill_pace_.nap_ns(now, ring_->released(), ring_->slots());
    if (nap_ns > 0) {
      ring_->nap(now + nap_ns);
    } else if (const auto slot = ring_->acquire_free(kNoDeadline, ring_->slots() / 2)) {
      return fill(*slot);
    }
  }
  return std::nullopt;
}

uint64_t RingPort::id_gap_before(const FrameMeta& meta) noexcept {
  const uint64_t explained = lost_since_;
  const bool comparable = has_last_id_ && !meta.discontinuity && meta.frame_id > last_id_;
  const uint64_t missing = comparable ? meta.frame_id - last_id_ - 1 : 0;
  has_last_id_ = true;
  last_id_ = meta.frame_id;
  lost_since_ = 0;
  return missing > explained && missing <= kLargestIdGap ? missing - explained : 0;
}

void RingPort::deliver(SlotIndex slot, const FrameMeta& meta) noexcept {
  if (!ring_->filling(slot)) return;
  FrameMeta checked = meta;
  if (checked.arrival_ns == 0) checked.arrival_ns = monotonic_now_ns();
  checked.width = checked.width == 0 ? format_.width : std::min(checked.width, format_.width);
  checked.height = checked.height == 0 ? format_.height : std::min(checked.height, format_.height);
  const uint64_t gap = id_gap_before(meta);
  {
    // Before the ring has it: however early the engine dies, no frame is processed that was not received.
    stats::Update update(cells_.sequence);
    update.add(cells_.received);
    update.add(cells_.received_bytes, checked.size_bytes);
    update.set(cells_.last_frame_id, checked.frame_id);
    update.set(cells_.last_arrival_ns, static_cast<uint64_t>(checked.arrival_ns));
    if (gap != 0) update.add(cells_.lost_id_gap, gap);
  }
  const uint32_t superseded = ring_->deliver(slot, checked);
  if (superseded != 0) {
    stats::Update update(cells_.sequence);
    update.add(cells_.dropped_superseded, superseded);
  }
}

void RingPort::cancel(SlotIndex slot) noexcept {
  ring_->cancel(slot);
}

void RingPort::lost(LostReason reason, uint64_t frames) noexcept {
  lost_since_ += frames;
  stats::Update update(cells_.sequence);
  switch (reason) {
    case LostReason::transport: update.add(cells_.lost_transport, frames); break;
    case LostReason::incomplete: update.add(cells_.lost_incomplete, frames); break;
    case LostReason::id_gap: update.add(cells_.lost_id_gap, frames); break;
    case LostReason::ring_full: update.add(cells_.lost_ring_full, frames); break;
  }
}

void RingPort::end_with(SourceEnd end) noexcept {
  end_.store(end, std::memory_order_release);
  attention_->raise();
}

void RingPort::finished() noexcept {
  end_with(SourceEnd::finished);
}

void RingPort::failed(Error error) noexcept {
  error_ = std::move(error);
  end_with(SourceEnd::failed);
}

void RingPort::format_changed(const FrameFormat& format) noexcept {
  new_format_ = format;
  end_with(SourceEnd::format_changed);
}

}  // namespace framelane
