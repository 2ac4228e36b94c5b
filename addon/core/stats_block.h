// The statistics block's file, mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/stats_layout.h"

namespace framelane::stats {

[[nodiscard]] size_t block_bytes(uint32_t engine_capacity, uint32_t channel_capacity) noexcept;

// Thread-safety: the accessors may be called from any thread; each group has its one writer.
class StatsBlock {
 public:
  // Maps an existing file; refuses one of another magic, version, size or layout.
  [[nodiscard]] static Result<std::unique_ptr<StatsBlock>> open(const std::string& path);

  // Makes a file with empty cells. In a running service the supervisor does that; this is for what runs without one.
  [[nodiscard]] static Result<std::unique_ptr<StatsBlock>> create(const std::string& path, uint32_t engine_capacity,
                                                                  uint32_t channel_capacity);
  ~StatsBlock();
  StatsBlock(const StatsBlock&) = delete;
  StatsBlock& operator=(const StatsBlock&) = delete;

  [[nodiscard]] uint32_t engine_capacity() const noexcept { return engines_; }
  [[nodiscard]] uint32_t channel_capacity() const noexcept { return channels_; }
  // nullptr beyond the capacity; else lives as long as this object.
  [[nodiscard]] EngineBlock* engine(uint32_t index) const noexcept;
  [[nodiscard]] ChannelBlock* channel(uint32_t index) const noexcept;

 private:
  StatsBlock(std::byte* data, size_t size_bytes) noexcept;

  std::byte* const data_;
  const size_t size_bytes_;
  // Copies: what another process writes into the header later moves nothing here.
  uint32_t engines_ = 0;
  uint32_t channels_ = 0;
};

// Of one moment. Thread-safety: a value.
struct Account {
  uint64_t received = 0;
  uint64_t processed = 0;
  uint64_t dropped = 0;  // all reasons
};
[[nodiscard]] Account account_of(const ChannelBlock& block) noexcept;

// What a new channel does with its cells first: frames that a dead engine had in flight become
// dropped{restart}, a sequence that it left odd is made even, gauges go to 0. Counts restarts_engine, or
// restarts_device, when the cells were left by an engine that did not stop its channel. True: it was so.
// Thread-safety: before the channel has any thread.
enum class Cause : uint8_t { engine, device };  // what the channel's former engine was lost for
bool take_over(ChannelBlock& block, Cause cause = Cause::engine) noexcept;

}  // namespace framelane::stats
