// Sink `memory`: has results downloaded and discards them, for measuring.
#pragma once

#include "io/make.h"

namespace framelane::io {

[[nodiscard]] Result<SinkSpec> make_memory_sink(const Fields& fields);

}  // namespace framelane::io
