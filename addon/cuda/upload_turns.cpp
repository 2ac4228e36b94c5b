#include "cuda/upload_turns.h"

namespace framelane::cuda {
namespace {

// Uploads end in the order in which they came, more or less: after so many that are not over, none is asked about.
constexpr int kMostAsked = 4;

}  // namespace

Status UploadTurns::open(const Context& context) {
  context_ = &context;
  std::vector<Event> events;
  while (events.size() < kPlaces) {
    Result<Event> event = make_event(context.driver(), false);
    if (!event) return event.error();
    events.push_back(event.take());
  }
  events_ = std::move(events);
  return {};
}

void UploadTurns::close() noexcept {
  if (!events_.empty() && context_->make_current()) events_.clear();
}

UploadTurns::Turn UploadTurns::put(uint64_t bytes, CUstream stream) noexcept {
  if (events_.empty() || bytes == 0) return {};
  const uint32_t serial = serial_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t word = bytes << kBytesShift | (uint64_t{serial} << 1 & ((uint64_t{1} << kBytesShift) - 1));
  for (uint32_t i = 0; i < kPlaces; ++i) {
    const uint32_t place = (serial + i) % kPlaces;
    uint64_t free = 0;
    if (words_[place].load(std::memory_order_relaxed) != 0 ||
        !words_[place].compare_exchange_strong(free, word, std::memory_order_acquire))
      continue;
    if (context_->driver().cuEventRecord(events_[place].get(), stream) != CUDA_SUCCESS) {
      words_[place].store(0, std::memory_order_release);
      return {};
    }
    words_[place].store(word | kPut, std::memory_order_release);
    return {place, word | kPut};
  }
  return {};
}

bool UploadTurns::give_back(uint32_t place, uint64_t word) noexcept {
  if (!words_[place].compare_exchange_strong(word, 0, std::memory_order_acq_rel)) return false;
  upload_.leave(bytes_in(word));
  return true;
}

void UploadTurns::end(const Turn& turn) noexcept {
  if (turn) std::ignore = give_back(turn.place, turn.word);
}

void UploadTurns::collect() noexcept {
  int left = kMostAsked;
  for (uint32_t place = 0; place < events_.size() && left > 0; ++place) {
    const uint64_t word = words_[place].load(std::memory_order_acquire);
    if ((word & kPut) == 0) continue;
    // Whatever the event is asked for belongs to this word, or the word is another one by then.
    if (context_->driver().cuEventQuery(events_[place].get()) != CUDA_SUCCESS || !give_back(place, word)) --left;
  }
}

}  // namespace framelane::cuda
