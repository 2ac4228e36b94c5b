// The engine's side of one connected producer.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/frame.h"
#include "core/memory_mapping.h"
#include "core/source.h"
#include "framelane/shm_layout.h"
#include "io/shm/unique_fd.h"

namespace framelane::io::shm {

// Where the slots lie. Thread-safety: a value; the ring it describes outlives the session.
struct RingGeometry {
  int fd = -1;
  size_t file_bytes = 0;
  size_t slots_offset = 0;
  size_t slot_stride_bytes = 0;
  uint32_t slots = 0;
};

// Lends slots to the producer and takes them back filled. Which slots are lent, and how far both queues are,
// is known here, in private memory; what the producer writes is copied once, then checked, then used.
// Thread-safety: one thread at a time, as the source sees to.
class ProducerSession {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ProducerSession>> create(UniqueFd socket, const FrameFormat& format,
                                                                       const RingGeometry& ring);

  [[nodiscard]] Status welcome();
  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] uint32_t lent() const noexcept { return lent_count_; }

  // False when the ring took lent slots back while the source was stopped.
  [[nodiscard]] bool holds_its_slots(const Ring& ring) const noexcept;

  // The caller has acquired the slot; it comes back through collect(), finish() or abandon().
  void lend(SlotIndex slot) noexcept;

  [[nodiscard]] bool has_filled() const noexcept;

  // Delivers what the producer has filled and counts what it has lost. An error is a breach of the protocol:
  // the frame in question is counted as incomplete, and abandon() must follow; until then it is said again.
  [[nodiscard]] Status collect(FramePort& port);

  // The producer has gone: like collect(), then counts the frames it had begun and takes all slots back.
  [[nodiscard]] Status finish(FramePort& port);

  // Takes all slots back; nothing is counted.
  void abandon(FramePort& port) noexcept;

 private:
  ProducerSession(UniqueFd socket, const FrameFormat& format, const RingGeometry& ring, SharedMapping control) noexcept;
  [[nodiscard]] framelane_shm_control* control() const noexcept;
  [[nodiscard]] framelane_shm_descriptor copy_descriptor(uint64_t number) const noexcept;
  [[nodiscard]] Status collect_waiting(FramePort& port);
  [[nodiscard]] Status check(const framelane_shm_descriptor& frame) const;
  [[nodiscard]] Status count_losses(FramePort& port);
  void take(const framelane_shm_descriptor& frame, FramePort& port) noexcept;
  void count_gap(const framelane_shm_descriptor& frame, FramePort& port) noexcept;
  [[nodiscard]] uint64_t bytes_needed(uint32_t width, uint32_t height) const noexcept;

  const UniqueFd socket_;
  const FrameFormat format_;
  const RingGeometry ring_;
  const SharedMapping control_;

  std::bitset<FRAMELANE_SHM_QUEUE_ENTRIES> lent_;
  uint32_t lent_count_ = 0;
  uint64_t free_count_ = 0;
  uint64_t filled_taken_ = 0;
  std::optional<Error> breach_;

  // What has been counted of the producer's own counters.
  uint64_t ring_full_ = 0;
  uint64_t transport_ = 0;
  uint64_t incomplete_ = 0;

  // Of the last frame that was taken.
  bool first_ = true;
  bool discontinuity_ = true;
  uint64_t last_frame_id_ = 0;
  uint64_t last_losses_before_ = 0;
};

}  // namespace framelane::io::shm
