// Sink `shm`: hands results to other processes through shared memory (docs/shm-ring.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/sink.h"
#include "io/make.h"

namespace framelane::io {

struct ShmSinkConfig {
  std::string path;    // of the socket; "@name" is abstract
  uint32_t slots = 6;  // 2..256
};

// `config.path` has passed check_socket_path().
[[nodiscard]] std::unique_ptr<Sink> make_shm_sink(ShmSinkConfig config);

// Fields: path, slots.
[[nodiscard]] Result<SinkSpec> make_shm_sink(const Fields& fields);

}  // namespace framelane::io
