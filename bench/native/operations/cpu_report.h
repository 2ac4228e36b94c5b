// docs/operations-cpu.md and bench/results/operations-cpu.json.
#pragma once

#include "core/error.h"

namespace framelane::bench {

// Each operation at 1920x1080 with its schedule and without, and how long compiling takes; written to the project's
// root, which is the working directory. An error: a schedule is slower than none, or nothing could be measured.
[[nodiscard]] Status write_cpu_report();

}  // namespace framelane::bench
