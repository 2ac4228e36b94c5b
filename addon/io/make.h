// Sources and sinks by the name that the YAML gives them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/channel.h"
#include "core/error.h"
#include "core/source.h"
#include "io/phase.h"

namespace framelane::io {

// A source's or sink's own fields, in the YAML's spelling; quantities in base units.
using Fields = std::map<std::string, std::variant<bool, double, std::string>>;

// `type`: pattern, raw, y4m, shm, ffmpeg. Unknown or unusable fields: invalid_argument.
// A source whose library this machine lacks: unsupported, naming the package. `phase`: when frames are due in a source
// that has a clock of its own and whose fields do not say it; without one they start at once.
[[nodiscard]] Result<std::unique_ptr<Source>> make_source(const std::string& type, const Fields& fields,
                                                          const std::optional<Phase>& phase = std::nullopt);

// `type`: none, memory, file, shm; compare, for measurements. Fills `make`, `wants_host` and `threadless`; the queue is
// the caller's.
[[nodiscard]] Result<SinkSpec> make_sink(const std::string& type, const Fields& fields);

}  // namespace framelane::io
