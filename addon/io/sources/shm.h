// Source `shm`: another process fills the channel's ring (docs/shm-ring.md).
#pragma once

#include <memory>
#include <string>

#include "core/error.h"
#include "core/source.h"
#include "io/make.h"

namespace framelane::io {

struct ShmSourceConfig {
  std::string path;                          // of the socket; "@name" is abstract
  int64_t open_timeout_ns = 5'000'000'000;   // how long open() waits for a producer
  int64_t hello_timeout_ns = 1'000'000'000;  // how long a connected producer may take to say HELLO
};

[[nodiscard]] Result<std::unique_ptr<Source>> make_shm_source(ShmSourceConfig config);

// Fields: path, timeout (seconds).
[[nodiscard]] Result<std::unique_ptr<Source>> make_shm_source(const Fields& fields);

}  // namespace framelane::io
