// Source `y4m`: a YUV4MPEG2 file.
#pragma once

#include <memory>

#include "core/error.h"
#include "core/source.h"
#include "io/make.h"

namespace framelane::io {

// Fields: path, fps, loop, pace, format (rgb8, mono8, mono16). docs/sources.md describes them.
[[nodiscard]] Result<std::unique_ptr<Source>> make_y4m_source(const Fields& fields, const std::optional<Phase>& phase);

}  // namespace framelane::io
