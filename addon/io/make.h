// Sources and sinks by the name that the YAML gives them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>

#include "core/channel.h"
#include "core/error.h"
#include "core/source.h"

namespace framelane::io {

// A source's or sink's own fields, in the YAML's spelling; quantities in base units.
using Fields = std::map<std::string, std::variant<bool, double, std::string>>;

// `type`: pattern, raw, y4m, shm, ffmpeg. Unknown or unusable fields: invalid_argument.
// A source whose library this machine lacks: unsupported, naming the package.
[[nodiscard]] Result<std::unique_ptr<Source>> make_source(const std::string& type, const Fields& fields);

// `type`: none, memory, file, shm. Fills `make`, `wants_host` and `threadless`; the queue is the caller's.
[[nodiscard]] Result<SinkSpec> make_sink(const std::string& type, const Fields& fields);

}  // namespace framelane::io
