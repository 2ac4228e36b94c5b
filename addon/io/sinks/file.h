// Sink `file`: results into one file, or into one file each.
#pragma once

#include "io/make.h"

namespace framelane::io {

// Fields: path, format (raw, y4m), fps (what a y4m file says), sync (each frame's file on the disk before it
// gets its name). docs/sinks.md describes them.
[[nodiscard]] Result<SinkSpec> make_file_sink(const Fields& fields);

}  // namespace framelane::io
