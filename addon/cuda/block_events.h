// Events that say when a stream has done with the blocks that it gave back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/error.h"
#include "cuda/driver.h"

namespace framelane::cuda {

// Thread-safety: under the mutex of the device's cache.
struct BlockEvent {
  CUevent event = nullptr;
  uint32_t blocks = 0;    // that wait for it
  bool complete = false;  // seen
};

// Thread-safety: under the mutex of the device's cache; the device's context is current. No call waits for the device.
class BlockEvents {
 public:
  explicit BlockEvents(const Driver& driver) : driver_(driver) {}
  ~BlockEvents();
  BlockEvents(const BlockEvents&) = delete;
  BlockEvents& operator=(const BlockEvents&) = delete;

  // Makes so many beforehand.
  [[nodiscard]] Status prepare(uint32_t count);
  // An event behind all work that was put on the stream before; not to be called while the stream is captured.
  // Nobody waits for it yet: add() or drop() follows.
  [[nodiscard]] Result<BlockEvent*> record(CUstream stream);
  // Whether it has been reached; all: of every event that a block waits for. Not on a thread that captures.
  [[nodiscard]] bool ask(BlockEvent& event) const noexcept;
  void ask_all() const noexcept;
  // So many blocks more or less wait for it. One that nobody waits for is recorded anew: drop(event, 0) says so of an
  // event that found no block.
  void add(BlockEvent& event) const noexcept { ++event.blocks; }
  void drop(BlockEvent& event, uint32_t blocks = 1) noexcept;

 private:
  [[nodiscard]] Status make();

  const Driver& driver_;
  std::vector<std::unique_ptr<BlockEvent>> all_;
  std::vector<BlockEvent*> free_;
};

}  // namespace framelane::cuda
