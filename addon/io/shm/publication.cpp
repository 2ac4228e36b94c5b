#include "io/shm/publication.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "io/shm/messages.h"

namespace framelane::io::shm {
namespace {

constexpr size_t kEntryOffset = sizeof(framelane_shm_publication);

template <typename T>
void put(T& field, T value) noexcept {
  std::atomic_ref<T>(field).store(value, std::memory_order_relaxed);
}

}  // namespace

Publication::Publication(SharedMapping memory, const framelane_shm_welcome& welcome) noexcept
    : memory_(std::move(memory)), welcome_(welcome) {}

Result<Publication> Publication::create(const std::string& owner, const FrameFormat& format, uint32_t slots) {
  framelane_shm_welcome welcome = welcome_for(format, FRAMELANE_SHM_READER);
  welcome.slots = slots;
  welcome.slots_offset = round_up_to_page(kEntryOffset + slots * sizeof(framelane_shm_entry));
  welcome.slot_stride_bytes = round_up_to_page(format.bytes());
  welcome.file_bytes = welcome.slots_offset + slots * welcome.slot_stride_bytes;
  welcome.entry_offset = kEntryOffset;
  welcome.entry_bytes = sizeof(framelane_shm_entry);
  Result<SharedMapping> memory =
      SharedMapping::create("results at " + owner, welcome.file_bytes, PeerAccess::read_only);
  if (!memory) return memory.error();
  Publication publication(memory.take(), welcome);
  framelane_shm_publication& header = publication.header();
  header.magic = FRAMELANE_SHM_MAGIC;
  header.version = FRAMELANE_SHM_VERSION;
  header.bytes = sizeof header;
  return publication;
}

framelane_shm_publication& Publication::header() const noexcept {
  return *reinterpret_cast<framelane_shm_publication*>(memory_.data());
}

framelane_shm_entry& Publication::entry(uint64_t number) const noexcept {
  std::byte* entries = memory_.data() + kEntryOffset;
  return reinterpret_cast<framelane_shm_entry*>(entries)[(number - 1) % welcome_.slots];
}

Status Publication::publish(const ResultFrame& frame) {
  const FrameFormat& format = frame.view.format;
  const uint64_t bytes = format.bytes();
  if (bytes > welcome_.slot_stride_bytes)
    return Error{ErrorCode::sink_failed, "a result of " + format.describe() + " is larger than the sink's slots"};
  const uint64_t number = published_ + 1;
  framelane_shm_entry& slot = entry(number);
  put(slot.sequence, number * 2 - 1);
  // No byte of the new frame may be seen under the old sequence.
  std::atomic_thread_fence(std::memory_order_release);
  put(slot.frame_id, frame.meta.frame_id);
  put(slot.device_timestamp_ns, frame.meta.device_timestamp_ns);
  put(slot.arrival_ns, frame.meta.arrival_ns);
  put(slot.published_ns, monotonic_now_ns());
  put(slot.result, frame.sequence);
  put(slot.width, format.width);
  put(slot.height, format.height);
  put(slot.bytes, bytes);
  put(slot.row_stride_bytes, uint64_t{format.row_stride_bytes});
  put(slot.plane_stride_bytes, uint64_t{format.plane_stride_bytes});
  std::byte* pixels =
      memory_.data() + welcome_.slots_offset + (number - 1) % welcome_.slots * welcome_.slot_stride_bytes;
  std::memcpy(pixels, frame.view.data, bytes);
  std::atomic_ref<uint64_t>(slot.sequence).store(number * 2, std::memory_order_release);
  std::atomic_ref<uint64_t>(header().published).store(number, std::memory_order_release);
  published_ = number;
  return {};
}

void Publication::close() noexcept {
  std::atomic_ref<uint32_t>(header().closed).store(1, std::memory_order_release);
}

}  // namespace framelane::io::shm
