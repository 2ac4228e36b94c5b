// Sink `compare`: says whether results are the expected ones, for `framelane bench`; no YAML asks for it.
#pragma once

#include "io/make.h"

namespace framelane::io {

// `path`: a raw file of results that are right, one after the other, with samples of 8 bits; a frame must be one of
// them to within `tolerance` grey levels (1 unless told otherwise), but for the stamp of source `pattern` and what an
// operation spreads of it; that must be the frame's own. Errors: invalid_argument (fields), unsupported (the format),
// sink_failed (the file is not there, or a frame is none of these).
[[nodiscard]] Result<SinkSpec> make_compare_sink(const Fields& fields);

}  // namespace framelane::io
