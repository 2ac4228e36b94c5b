// The YAML fields of source `shm`.
#pragma once

#include "core/error.h"
#include "io/make.h"
#include "io/sources/shm.h"

namespace framelane::io::shm {

// `path`, `timeout` (seconds). Anything else: invalid_argument.
[[nodiscard]] Result<ShmSourceConfig> source_options(const Fields& fields);

}  // namespace framelane::io::shm
