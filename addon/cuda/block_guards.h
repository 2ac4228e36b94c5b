// Debug mode: guard bytes around blocks and poison in free ones.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/error.h"
#include "cuda/device_block.h"
#include "cuda/driver.h"

namespace framelane::cuda {

// Thread-safety: the StreamCache's; the device's context is current. Not to be called while the stream is captured.
class BlockGuards {
 public:
  static constexpr size_t kFrontBytes = kBlockAlignment;
  static constexpr size_t kRearBytes = 256;       // at least
  static constexpr size_t kMostRearBytes = 4096;  // as much of the rest of the block as is checked

  // Takes page-locked memory for what is read back.
  [[nodiscard]] static Result<std::unique_ptr<BlockGuards>> open(const Driver& driver, CUstream stream);
  ~BlockGuards();
  BlockGuards(const BlockGuards&) = delete;
  BlockGuards& operator=(const BlockGuards&) = delete;

  // The user's bytes lie kFrontBytes behind the block's address. Checks the poison (waits for the stream) and puts the
  // guards there (does not wait).
  [[nodiscard]] Status arm(Block& block, size_t requested_bytes, const std::string& channel) noexcept;
  // Checks the guards and puts poison there. Waits for the stream.
  [[nodiscard]] Status disarm(Block& block, const std::string& channel) noexcept;

 private:
  BlockGuards(const Driver& driver, CUstream stream) : driver_(driver), stream_(stream) {}
  [[nodiscard]] Status fill(CUdeviceptr address, unsigned char value, size_t bytes) noexcept;
  [[nodiscard]] Status fetch(size_t at, CUdeviceptr address, size_t bytes) noexcept;
  [[nodiscard]] Status wait() noexcept;

  const Driver& driver_;
  const CUstream stream_;
  unsigned char* seen_ = nullptr;
};

}  // namespace framelane::cuda
