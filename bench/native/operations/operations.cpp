// How long each built-in operation takes: its kernels on a GPU, or a frame on the CPU. `framelane bench operations`
// runs it.
//   bench_operations --device cuda:0|cpu [--library FILE] [--operations A,B] [--formats A,B] [--size WxH]
//                    [--seconds S] [--threads T]
// prints a JSON object on each line: first the device (mode `device`), then a row for each operation and format.
//   bench_operations
// writes docs/operations-cpu.md and bench/results/operations-cpu.json in the working directory, the project's root.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "native/operations/cpu_report.h"
#include "native/operations/rows.h"
#include "native/words.h"

namespace framelane::bench {
namespace {

bool read_formats(const std::string& value, std::vector<PixelFormat>& formats) {
  formats.clear();
  for (const std::string& word : words_of(value)) {
    const std::optional<PixelFormat> format = pixel_format_from_name(word);
    if (!format) return false;
    formats.push_back(*format);
  }
  return true;
}

bool read_option(const std::string& name, const std::string& value, OperationsRun& run) {
  if (name == "--device") return run.device = value, true;
  if (name == "--library") return run.library = value, true;
  if (name == "--operations") return run.operations = words_of(value), true;
  if (name == "--formats") return read_formats(value, run.formats);
  if (name == "--size")
    return std::sscanf(value.c_str(), "%ux%u", &run.width, &run.height) == 2 && run.width > 0 && run.height > 0;
  const double number = std::atof(value.c_str());
  if (name == "--seconds") return run.seconds = number, number > 0;
  if (name == "--threads") return run.threads = static_cast<uint32_t>(number), number >= 1 && number <= 1024;
  return false;
}

}  // namespace
}  // namespace framelane::bench

int main(int count, char** words) {
  using namespace framelane;
  bench::OperationsRun run;
  bool good = count % 2 == 1;
  for (int i = 1; good && i < count; i += 2) good = bench::read_option(words[i], words[i + 1], run);
  if (!good) {
    std::fprintf(stderr,
                 "usage: %s [--device cuda:0|cpu] [--library FILE] [--operations A,B] [--formats A,B] [--size WxH]\n"
                 "    [--seconds S] [--threads T]\n",
                 words[0]);
    return 64;
  }
  if (const Status measured = count == 1 ? bench::write_cpu_report() : bench::print_rows(run); !measured) {
    std::fprintf(stderr, "bench_operations: %s\n", measured.error().message.c_str());
    return measured.error().code == ErrorCode::invalid_argument ? 64 : 1;
  }
  return 0;
}
