// The built-in operations, for who does not see Halide.
#pragma once

#include <string>
#include <vector>

namespace framelane::halide {

// As in YAML; each once.
[[nodiscard]] std::vector<std::string> operation_names();

}  // namespace framelane::halide
