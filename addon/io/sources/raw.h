// Source `raw`: a file of frames without headers, one after the other.
#pragma once

#include <memory>

#include "core/error.h"
#include "core/source.h"
#include "io/make.h"

namespace framelane::io {

// Fields: path, width, height, format, fps, loop, pace, header_bytes. docs/sources.md describes them.
[[nodiscard]] Result<std::unique_ptr<Source>> make_raw_source(const Fields& fields, const std::optional<Phase>& phase);

}  // namespace framelane::io
