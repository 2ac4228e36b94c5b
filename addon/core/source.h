// What delivers frames into a channel's ring.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/error.h"
#include "core/frame.h"
#include "core/loss.h"

namespace framelane {

class Ring;
using SlotIndex = uint32_t;

// A slot that the source may fill until it delivers or cancels it.
struct FillSlot {
  SlotIndex index = 0;
  std::byte* data = nullptr;
  size_t capacity_bytes = 0;
};

// The source's side of the ring: announce, queue, fill, deliver, requeue (the GenTL/V4L2 model).
// Thread-safety: every member function is called on the source's one delivering thread, or within Source::look().
// Nothing here allocates, locks or throws.
class FramePort {
 public:
  virtual ~FramePort() = default;

  // A free slot, or what the ring's handling mode gives in its place. Empty: the ring is full
  // (oldest-first); the caller counts the frame that now has no place with lost(ring_full).
  [[nodiscard]] virtual std::optional<FillSlot> acquire() noexcept = 0;

  // Waits for a free slot, whatever the handling mode (pace: max). Empty: stop() was asked for.
  [[nodiscard]] virtual std::optional<FillSlot> acquire_wait() noexcept = 0;

  // Ids missing since the last delivered frame, and not explained by lost(), are counted as lost{id_gap},
  // except before a frame with `discontinuity`.
  virtual void deliver(SlotIndex slot, const FrameMeta& meta) noexcept = 0;

  // Gives a slot back unfilled; nothing is counted.
  virtual void cancel(SlotIndex slot) noexcept = 0;

  virtual void lost(LostReason reason, uint64_t frames) noexcept = 0;

  // Something that a person should read and that does not end the source: a file cut short, a frame that
  // cannot be decoded. Not counted here; a source says it at most once a second.
  virtual void notice(const Error& error) noexcept { (void)error; }

  // The last calls of a running source; after one of them it delivers nothing until started again.
  virtual void finished() noexcept = 0;                                 // the end of a file
  virtual void failed(Error error) noexcept = 0;                        // tried again with backoff
  virtual void format_changed(const FrameFormat& format) noexcept = 0;  // the channel announces a ring for it

  [[nodiscard]] virtual bool stopping() const noexcept = 0;
};

struct SourceTraits {
  bool live = true;             // sets the default handling mode: oldest-first-overwrite, else oldest-first
  bool paced_max = false;       // runs as fast as slots come free
  double expected_fps = 0;      // 0: unknown
  bool filled_by_peer = false;  // another process fills the ring, whose descriptor it is given
};

// open() -> announce() -> start() -> stop() [-> announce() -> start() ...] -> close(). Opened once: to try again,
// the channel makes another.
// Thread-safety: owned by one channel; called on its worker thread, except interrupt().
class Source {
 public:
  virtual ~Source() = default;

  // May block until the source's own time-out, or until interrupt(). The format that the ring's slots must hold.
  [[nodiscard]] virtual Result<FrameFormat> open() = 0;
  [[nodiscard]] virtual SourceTraits traits() const noexcept = 0;

  // Before the first start() with this ring: the slots and their mapping. Also after format_changed().
  virtual Status announce(Ring& ring) = 0;

  // Delivers from a thread of its own until stop(). The port outlives it.
  virtual Status start(FramePort& port) = 0;

  // Between start() and stop(), for a worker that watches for the next frame (`wait: spin`): delivers what is there, as
  // the delivering thread would have done a moment later, and never waits; does nothing while that thread is at it.
  // A source whose thread has nothing to poll leaves it empty.
  virtual void look(FramePort& port) noexcept { (void)port; }

  // Joins the delivering thread; after it the port is not called. start() carries on where it was.
  virtual void stop() noexcept = 0;
  virtual void close() noexcept = 0;

  // Any thread: makes a blocking open() return soon, also one that is called only afterwards.
  virtual void interrupt() noexcept = 0;
};

}  // namespace framelane
