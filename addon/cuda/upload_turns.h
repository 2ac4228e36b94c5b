// Turns on the bus that whoever comes by gives back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "cuda/admission.h"
#include "cuda/context.h"

namespace framelane::cuda {

// A worker sleeps until its frame is done, not until its upload is: it would keep its turn for as long, or have to wake
// once more for every frame. So an event of the device's own marks the end of each upload, and whoever ends a frame or
// wants a turn gives back all those whose uploads are over.
// Thread-safety: put(), end() and collect() from any thread with the context current; the others before and after.
// Owned by the device, outlives its lanes.
class UploadTurns {
 public:
  static constexpr uint32_t kPlaces = 64;

  // What the caller holds of a place. Thread-safety: a value.
  struct Turn {
    uint32_t place = 0;
    uint64_t word = 0;
    explicit operator bool() const noexcept { return word != 0; }
  };

  explicit UploadTurns(Admission& upload) noexcept : upload_(upload) {}
  ~UploadTurns() { close(); }
  UploadTurns(const UploadTurns&) = delete;
  UploadTurns& operator=(const UploadTurns&) = delete;

  // Until then, and where it fails, there are no places.
  [[nodiscard]] Status open(const Context& context);
  void close() noexcept;

  // Behind an upload of so many bytes that has entered. None: there is no place, and the caller owes the leave(bytes).
  [[nodiscard]] Turn put(uint64_t bytes, CUstream stream) noexcept;
  // The upload is over; perhaps somebody else has seen it.
  void end(const Turn& turn) noexcept;
  void collect() noexcept;

 private:
  // A place's state: 0, free; else bytes | serial | put. Without the last bit its event is not recorded yet.
  static constexpr uint64_t kPut = 1;
  static constexpr unsigned kBytesShift = 21;
  [[nodiscard]] static uint64_t bytes_in(uint64_t word) noexcept { return word >> kBytesShift; }
  [[nodiscard]] bool give_back(uint32_t place, uint64_t word) noexcept;

  Admission& upload_;
  const Context* context_ = nullptr;
  std::vector<Event> events_;  // one for each place; none: closed
  std::array<std::atomic<uint64_t>, kPlaces> words_{};
  std::atomic<uint32_t> serial_{0};
};

}  // namespace framelane::cuda
