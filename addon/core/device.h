// A device that pipelines run on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/pipeline.h"

namespace framelane {

struct DeviceInfo {
  std::string id;    // "cpu", "cuda:0"
  std::string name;  // "AMD EPYC, 16 cores"
  uint64_t memory_bytes = 0;
  uint32_t cores = 0;
};

// Thread-safety: all member functions may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const noexcept = 0;

  // Makes a ring's mapping fast for this device's copies (page-locks it on a GPU; nothing on the CPU).
  // The caller keeps the memory alive until forget_host().
  virtual Status adopt_host(void* data, size_t size_bytes) = 0;
  virtual void forget_host(void* data) noexcept = 0;

  // Lives as long as the device.
  [[nodiscard]] virtual PipelineCompiler& compiler() noexcept = 0;
};

}  // namespace framelane
