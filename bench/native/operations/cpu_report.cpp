#include "native/operations/cpu_report.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/frame.h"
#include "core/pipeline.h"
#include "halide/cpu_compiler.h"
#include "halide/cpu_device.h"
#include "native/operations/cases.h"
#include "native/operations/cpu.h"

namespace framelane::bench {
namespace {

constexpr uint32_t kWidth = 1920, kHeight = 1080;
constexpr int64_t kEnoughNs = 300'000'000;  // of running for one number

// What a new engine waits for: the first compile of a process, then the pipelines of a small configuration, one after
// the other and two at once, each in a cache of its own.
struct Start {
  double first_ms = 0, after_ms = 0, two_at_once_ms = 0;
};

PipelineRequest start_request(size_t index) {
  PipelineRequest request;
  request.inputs = {FrameFormat::packed(index == 0 ? PixelFormat::rgb8 : PixelFormat::mono8, 1280, 720)};
  request.spec.operations = {{"local_contrast", {{"gain", 1.2}, {"levels", 3.0}}}, {"unsharp", {{"amount", 0.5}}}};
  if (index == 1) request.spec.operations.insert(request.spec.operations.begin(), {"gain", {{"value", 1.1}}});
  return request;
}

double compile_ms(PipelineCompiler& compiler, const PipelineRequest& request) {
  const MonotonicNs begin = monotonic_now_ns();
  if (!compiler.compile(request)) std::exit(1);
  return milliseconds(monotonic_now_ns() - begin);
}

Start measure_start() {
  Start start;
  halide::CpuCompiler one, two;
  start.first_ms = compile_ms(one, start_request(0));
  start.after_ms = compile_ms(one, start_request(1));
  const MonotonicNs begin = monotonic_now_ns();
  std::thread other([&] { compile_ms(two, start_request(0)); });
  compile_ms(two, start_request(1));
  other.join();
  start.two_at_once_ms = milliseconds(monotonic_now_ns() - begin);
  return start;
}

struct Row {
  std::string operation;
  PixelFormat pixel;
  CpuTimes tuned, plain;
};

std::string pixel_name(PixelFormat pixel) {
  return std::string(info(pixel).name);
}

void write_json(const std::string& path, const std::string& cpu, const Start& start, const std::vector<Row>& rows) {
  std::ofstream file(path);
  file << "{\n  \"processor\": \"" << cpu << "\",\n  \"halide\": \"" << halide::version()
       << "\",\n  \"width\": " << kWidth << ",\n  \"height\": " << kHeight
       << ",\n  \"threads\": 1,\n  \"start\": { \"first_compile_ms\": " << start.first_ms
       << ", \"second_compile_ms\": " << start.after_ms << ", \"both_at_once_ms\": " << start.two_at_once_ms
       << " },\n  \"operations\": [\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    file << "    { \"operation\": \"" << row.operation << "\", \"format\": \"" << pixel_name(row.pixel)
         << "\", \"frame_ms\": " << row.tuned.frame_ms << ", \"unscheduled_frame_ms\": " << row.plain.frame_ms
         << ", \"compile_ms\": " << row.tuned.compile_ms << " }" << (i + 1 < rows.size() ? ",\n" : "\n");
  }
  file << "  ]\n}\n";
}

void write_markdown(const std::string& path, const std::string& cpu, const Start& start, const std::vector<Row>& rows) {
  std::ofstream file(path);
  char line[256];
  file << "# Operations on the CPU\n\n"
          "Written by `build/Release/bench_operations` without arguments (`npm run build -- --bench` builds it), which "
          "also writes `bench/results/operations-cpu.json`.\n\n"
          "One frame of 1920x1080 on one thread, the fastest of up to 40 runs; the machine had other work to do. "
       << cpu << ", Halide " << halide::version()
       << ". *Unscheduled* is the same graph in plain loops: every stage inline, but for the pyramid's levels, "
          "which are stored, since inlining them gives 16^levels terms.\n\n"
          "| operation | format | frame | unscheduled | times faster | compile |\n"
          "| --- | --- | ---: | ---: | ---: | ---: |\n";
  for (const Row& row : rows) {
    std::snprintf(line, sizeof line, "| %s | %s | %.3f ms | %.2f ms | %.1f | %.0f ms |\n", row.operation.c_str(),
                  pixel_name(row.pixel).c_str(), row.tuned.frame_ms, row.plain.frame_ms,
                  row.plain.frame_ms / row.tuned.frame_ms, row.tuned.compile_ms);
    file << line;
  }
  std::snprintf(line, sizeof line,
                "local_contrast and unsharp for rgb8: %.0f ms as the first compile of a process. With gain before them "
                "for mono8, next: %.0f ms. Both at once on two threads: %.0f ms.\n",
                start.first_ms, start.after_ms, start.two_at_once_ms);
  file << "\n## Compiling\n\n" << line;
}

Result<std::vector<Row>> measure_rows() {
  Result<std::vector<OperationCase>> cases = operation_cases(kWidth, kHeight);
  if (!cases) return cases.error();
  halide::CpuCompiler tuned, plain({.scheduled = false});
  std::vector<Row> rows;
  for (const OperationCase& one : cases.value()) {
    for (const PixelFormat pixel : kMeasuredFormats) {
      if (!one.takes(pixel)) continue;
      const PipelineRequest request = request_of(one, FrameFormat::packed(pixel, kWidth, kHeight));
      Result<CpuTimes> scheduled = measure_on_cpu(tuned, request, kEnoughNs);
      if (!scheduled) return scheduled.error();
      Result<CpuTimes> unscheduled = measure_on_cpu(plain, request, kEnoughNs);
      if (!unscheduled) return unscheduled.error();
      rows.push_back({one.name, pixel, scheduled.value(), unscheduled.value()});
      const Row& row = rows.back();
      std::printf("%-30s %-8s %8.3f ms, unscheduled %8.3f ms, compile %4.0f ms\n", row.operation.c_str(),
                  pixel_name(pixel).c_str(), row.tuned.frame_ms, row.plain.frame_ms, row.tuned.compile_ms);
      std::fflush(stdout);
    }
  }
  return rows;
}

}  // namespace

Status write_cpu_report() {
  const Start start = measure_start();
  const std::string cpu = halide::make_cpu_device()->info().name;
  Result<std::vector<Row>> rows = measure_rows();
  if (!rows) return rows.error();
  mkdir("bench/results", 0777);
  write_json("bench/results/operations-cpu.json", cpu, start, rows.value());
  write_markdown("docs/operations-cpu.md", cpu, start, rows.value());
  for (const Row& row : rows.value())
    if (row.tuned.frame_ms >= row.plain.frame_ms)
      return Error{ErrorCode::internal, row.operation + " is slower with its schedule than without"};
  return {};
}

}  // namespace framelane::bench
