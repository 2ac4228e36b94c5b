#include "io/shm/producer_session.h"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "core/ring.h"
#include "io/shm/messages.h"

namespace framelane::io::shm {
namespace {

constexpr size_t kFreeOffset = sizeof(framelane_shm_control);
constexpr size_t kFilledOffset = kFreeOffset + FRAMELANE_SHM_QUEUE_ENTRIES * sizeof(uint32_t);
constexpr size_t kControlBytes = kFilledOffset + FRAMELANE_SHM_QUEUE_ENTRIES * sizeof(framelane_shm_descriptor);

// More in one step is no loss but a scribbled counter, or a device that began to count anew.
constexpr uint64_t kMostLostAtOnce = 1U << 20;
// A time of filling that is older than this, or in the future, comes from another clock.
constexpr int64_t kOldestFilledNs = 1'000'000'000;

uint64_t load(const uint64_t& word, std::memory_order order = std::memory_order_relaxed) noexcept {
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(word)).load(order);
}

void store(uint64_t& word, uint64_t value, std::memory_order order) noexcept {
  std::atomic_ref<uint64_t>(word).store(value, order);
}

Error breach(const std::string& what) {
  return Error{ErrorCode::source_malformed, "the producer broke the protocol: " + what};
}

}  // namespace

ProducerSession::ProducerSession(UniqueFd socket, const FrameFormat& format, const RingGeometry& ring,
                                 SharedMapping control) noexcept
    : socket_(std::move(socket)), format_(format), ring_(ring), control_(std::move(control)) {}

Result<std::unique_ptr<ProducerSession>> ProducerSession::create(UniqueFd socket, const FrameFormat& format,
                                                                 const RingGeometry& ring) {
  if (ring.slots > FRAMELANE_SHM_QUEUE_ENTRIES || ring.slot_stride_bytes < format.bytes())
    return Error{ErrorCode::internal, "the ring does not fit the producer's frames"};
  Result<SharedMapping> memory = SharedMapping::create("control block of a producer", round_up_to_page(kControlBytes));
  if (!memory) return memory.error();
  std::unique_ptr<ProducerSession> session(new ProducerSession(std::move(socket), format, ring, memory.take()));
  framelane_shm_control& control = *session->control();
  control.magic = FRAMELANE_SHM_MAGIC;
  control.version = FRAMELANE_SHM_VERSION;
  control.bytes = sizeof control;
  return session;
}

framelane_shm_control* ProducerSession::control() const noexcept {
  return reinterpret_cast<framelane_shm_control*>(control_.data());
}

Status ProducerSession::welcome() {
  framelane_shm_welcome message = welcome_for(format_, FRAMELANE_SHM_PRODUCER);
  message.file_bytes = ring_.file_bytes;
  message.slots_offset = ring_.slots_offset;
  message.slot_stride_bytes = ring_.slot_stride_bytes;
  message.slots = ring_.slots;
  message.queue_entries = FRAMELANE_SHM_QUEUE_ENTRIES;
  message.control_bytes = control_.size_bytes();
  message.free_offset = kFreeOffset;
  message.filled_offset = kFilledOffset;
  message.entry_bytes = sizeof(framelane_shm_descriptor);
  return send_welcome(socket(), message, {ring_.fd, control_.fd()});
}

void ProducerSession::lend(SlotIndex slot) noexcept {
  lent_.set(slot);
  ++lent_count_;
  auto* queue = reinterpret_cast<uint32_t*>(control_.data() + kFreeOffset);
  std::atomic_ref<uint32_t>(queue[free_count_ % FRAMELANE_SHM_QUEUE_ENTRIES]).store(slot, std::memory_order_relaxed);
  store(control()->free_count, ++free_count_, std::memory_order_release);
}

bool ProducerSession::holds_its_slots(const Ring& ring) const noexcept {
  for (SlotIndex slot = 0; slot < ring_.slots; ++slot) {
    if (lent_.test(slot) && !ring.filling(slot)) return false;
  }
  return true;
}

framelane_shm_descriptor ProducerSession::copy_descriptor(uint64_t number) const noexcept {
  constexpr size_t kWords = sizeof(framelane_shm_descriptor) / sizeof(uint64_t);
  const size_t index = number % FRAMELANE_SHM_QUEUE_ENTRIES;
  const std::byte* entry = control_.data() + kFilledOffset + index * sizeof(framelane_shm_descriptor);
  std::array<uint64_t, kWords> words;
  // Word by word, so that the compiler can neither read one twice nor assume that nobody writes meanwhile.
  for (size_t i = 0; i < kWords; ++i) words[i] = load(reinterpret_cast<const uint64_t*>(entry)[i]);
  framelane_shm_descriptor copy;
  std::memcpy(&copy, words.data(), sizeof copy);
  return copy;
}

Status ProducerSession::check(const framelane_shm_descriptor& frame) const {
  if (frame.slot >= ring_.slots || !lent_.test(frame.slot))
    return breach("slot " + std::to_string(frame.slot) + " is not lent to it");
  if (frame.flags != 0) return breach("a descriptor has flags that version 1 does not know");
  if (frame.width < 1 || frame.width > format_.width || frame.height < 1 || frame.height > format_.height)
    return breach("a frame of " + std::to_string(frame.width) + "x" + std::to_string(frame.height) +
                  " does not fit the announced " + format_.describe());
  if (frame.bytes > ring_.slot_stride_bytes) return breach("a frame is larger than its slot");
  return {};
}

Status ProducerSession::count_losses(FramePort& port) {
  const auto count = [&](const uint64_t& word, uint64_t& counted, LostReason reason) {
    const uint64_t more = load(word) - counted;
    if (more > kMostLostAtOnce) return false;
    if (more > 0) port.lost(reason, more);
    counted += more;
    return true;
  };
  const framelane_shm_control& shared = *control();
  if (!count(shared.lost_ring_full, ring_full_, LostReason::ring_full) ||
      !count(shared.lost_transport, transport_, LostReason::transport) ||
      !count(shared.lost_incomplete, incomplete_, LostReason::incomplete))
    return breach("a loss counter went backwards or jumped");
  return {};
}

uint64_t ProducerSession::bytes_needed(uint32_t width, uint32_t height) const noexcept {
  const PixelFormatInfo& pixel = info(format_.pixel);
  const bool planar = format_.plane_stride_bytes != 0;
  const uint64_t last_row = uint64_t{width} * bytes_per_sample(pixel.type) * (planar ? 1 : pixel.samples);
  const uint64_t planes_before = planar ? format_.plane_stride_bytes * (pixel.samples - 1U) : 0;
  return planes_before + format_.row_stride_bytes * (height - 1U) + last_row;
}

void ProducerSession::count_gap(const framelane_shm_descriptor& frame, FramePort& port) noexcept {
  const uint64_t step = frame.frame_id - last_frame_id_;
  if (!first_ && step != 1) discontinuity_ = true;
  if (!first_ && step > 1 && step <= kMostLostAtOnce) {
    // What the producer has counted itself is no gap.
    const uint64_t known = frame.losses_before - last_losses_before_;
    const uint64_t missing = step - 1;
    if (known < missing) port.lost(LostReason::id_gap, missing - known);
  }
  first_ = false;
  last_frame_id_ = frame.frame_id;
  last_losses_before_ = frame.losses_before;
}

void ProducerSession::take(const framelane_shm_descriptor& frame, FramePort& port) noexcept {
  lent_.reset(frame.slot);
  --lent_count_;
  count_gap(frame, port);
  if (frame.bytes < bytes_needed(frame.width, frame.height)) {
    port.cancel(frame.slot);
    port.lost(LostReason::incomplete, 1);
    discontinuity_ = true;
    return;
  }
  const MonotonicNs now = monotonic_now_ns();
  FrameMeta meta;
  meta.frame_id = frame.frame_id;
  meta.device_timestamp_ns = frame.device_timestamp_ns;
  meta.arrival_ns = frame.filled_ns > now - kOldestFilledNs && frame.filled_ns <= now ? frame.filled_ns : now;
  meta.width = frame.width;
  meta.height = frame.height;
  meta.size_bytes = frame.bytes;
  meta.discontinuity = discontinuity_;
  discontinuity_ = false;
  port.deliver(frame.slot, meta);
}

bool ProducerSession::has_filled() const noexcept {
  return !breach_ && load(control()->filled_count) != filled_taken_;
}

Status ProducerSession::collect(FramePort& port) {
  if (breach_) return *breach_;
  Status collected = collect_waiting(port);
  if (!collected) {
    port.lost(LostReason::incomplete, 1);
    breach_ = collected.error();
  }
  return collected;
}

Status ProducerSession::collect_waiting(FramePort& port) {
  const uint64_t filled = load(control()->filled_count, std::memory_order_acquire);
  uint64_t waiting = filled - filled_taken_;
  if (waiting > lent_count_) return breach("it says that it filled more frames than it has slots");
  // The producer counts a loss before the frame that follows it.
  if (Status counted = count_losses(port); !counted) return counted;
  for (; waiting > 0; --waiting) {
    const framelane_shm_descriptor frame = copy_descriptor(filled_taken_);
    if (Status checked = check(frame); !checked) return checked;
    ++filled_taken_;
    take(frame, port);
  }
  store(control()->filled_taken, filled_taken_, std::memory_order_release);
  return {};
}

Status ProducerSession::finish(FramePort& port) {
  Status collected = collect(port);
  if (collected) {
    // Only a count that fits the slots it had can be true.
    const uint64_t begun = load(control()->begun) - load(control()->cancelled) - filled_taken_;
    if (begun > 0 && begun <= lent_count_) port.lost(LostReason::incomplete, begun);
  }
  abandon(port);
  return collected;
}

void ProducerSession::abandon(FramePort& port) noexcept {
  std::atomic_ref<uint32_t>(control()->closed).store(1, std::memory_order_release);
  for (SlotIndex slot = 0; slot < ring_.slots; ++slot) {
    if (lent_.test(slot)) port.cancel(slot);
  }
  lent_.reset();
  lent_count_ = 0;
  ::shutdown(socket(), SHUT_RDWR);
}

}  // namespace framelane::io::shm
