// The rows of one run, as JSON on the standard output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "native/operations/cases.h"

namespace framelane::bench {

// Thread-safety: a value.
struct OperationsRun {
  std::string device = "cuda:0";
  std::string library = "libcuda.so.1";
  std::vector<std::string> operations;  // names of operations; empty: all
  std::vector<PixelFormat> formats = {std::begin(kMeasuredFormats), std::end(kMeasuredFormats)};
  uint32_t width = 4096, height = 3112;  // larger than the cache of a GPU
  double seconds = 0.2;                  // of each row
  uint32_t threads = 1;                  // on the CPU
};

// First a line about the device, then one for each operation and format. invalid_argument: there is no such operation.
[[nodiscard]] Status print_rows(const OperationsRun& run);

}  // namespace framelane::bench
