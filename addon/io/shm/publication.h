// The memory in which a shm sink publishes its results.
#pragma once

#include <cstdint>
#include <string>

#include "core/memory_mapping.h"
#include "core/sink.h"
#include "framelane/shm_layout.h"

namespace framelane::io::shm {

// A header, one entry for each slot, the slots; sealed so that only this mapping can write. A slot's sequence tells
// a reader whether it was overwritten meanwhile: the writer never waits for one.
// Thread-safety: owned by the sink's thread; readers are other processes.
class Publication {
 public:
  [[nodiscard]] static Result<Publication> create(const std::string& owner, const FrameFormat& format, uint32_t slots);

  [[nodiscard]] const framelane_shm_welcome& welcome() const noexcept { return welcome_; }
  [[nodiscard]] int fd() const noexcept { return memory_.fd(); }

  // Copies the frame into the slot that was written longest ago.
  [[nodiscard]] Status publish(const ResultFrame& frame);
  void close() noexcept;  // tells readers that nothing more comes

 private:
  Publication(SharedMapping memory, const framelane_shm_welcome& welcome) noexcept;
  [[nodiscard]] framelane_shm_publication& header() const noexcept;
  [[nodiscard]] framelane_shm_entry& entry(uint64_t number) const noexcept;

  SharedMapping memory_;
  framelane_shm_welcome welcome_;
  uint64_t published_ = 0;
};

}  // namespace framelane::io::shm
