// Each operation at 1920x1080 with its schedule and without, and how long compiling takes.
// Writes bench/results/operations-cpu.json and docs/operations-cpu.md; run it from the project's root.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/frame.h"
#include "core/pipeline.h"
#include "halide/cpu_compiler.h"
#include "halide/cpu_device.h"

namespace framelane {
namespace {

constexpr uint32_t kWidth = 1920, kHeight = 1080;
constexpr int64_t kEnoughNs = 300'000'000;  // of running for one number
constexpr int kMostRuns = 40;
constexpr PixelFormat kPixels[] = {PixelFormat::mono8, PixelFormat::rgb8, PixelFormat::mono32f, PixelFormat::rgb32f};

struct Workload {
  std::string name;  // as in YAML
  std::vector<OperationSpec> operations;
};

std::vector<Workload> workloads() {
  const auto resize = [](const char* method, double width, double height) -> Workload {
    return {"resize to " + std::to_string(int(width)) + "x" + std::to_string(int(height)) + ", " + method,
            {{"resize", {{"width", width}, {"height", height}, {"method", std::string(method)}}}}};
  };
  return {
      {"gain", {{"gain", {{"value", 1.5}}}}},
      {"gamma", {{"gamma", {{"value", 2.2}}}}},
      {"convert to uint16", {{"convert", {{"type", std::string("uint16")}}}}},
      {"crop to 1280x720", {{"crop", {{"x", 100.0}, {"y", 100.0}, {"width", 1280.0}, {"height", 720.0}}}}},
      {"unsharp, radius 1", {{"unsharp", {{"amount", 0.8}}}}},
      {"local_contrast, 3 levels", {{"local_contrast", {{"gain", 1.2}, {"levels", 3.0}}}}},
      resize("nearest", 1280, 720),
      resize("bilinear", 1280, 720),
      resize("bicubic", 1280, 720),
      resize("area", 1280, 720),
  };
}

struct Measured {
  double compile_ms = 0;
  double frame_ms = 0;  // the fastest of several: other load only adds
};

std::vector<std::byte> picture(const FrameFormat& format) {
  std::vector<std::byte> bytes(format.bytes());
  uint32_t state = 1;
  const bool floats = info(format.pixel).type == SampleType::float32;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    state = state * 1'664'525U + 1'013'904'223U;
    const float value = static_cast<float>(state >> 8) / 16'777'216.0F;
    std::memcpy(&bytes[i], floats ? static_cast<const void*>(&value) : &state, 4);
  }
  return bytes;
}

double milliseconds(int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

Measured measure(PipelineCompiler& compiler, const Workload& workload, PixelFormat pixel) {
  PipelineRequest request;
  request.spec.operations = workload.operations;
  request.inputs = {FrameFormat::packed(pixel, kWidth, kHeight)};
  const MonotonicNs begin = monotonic_now_ns();
  Result<std::unique_ptr<Pipeline>> made = compiler.compile(request);
  if (!made) {
    std::fprintf(stderr, "%s: %s\n", workload.name.c_str(), made.error().message.c_str());
    std::exit(1);
  }
  Measured measured;
  measured.compile_ms = milliseconds(monotonic_now_ns() - begin);
  Pipeline& pipeline = *made.value();
  std::vector<std::byte> input = picture(request.inputs[0]), output(pipeline.outputs()[0].bytes());
  const FrameView in{input.data(), request.inputs[0]}, out{output.data(), pipeline.outputs()[0]};
  const FrameMeta meta;
  int64_t best = INT64_MAX, spent = 0;
  for (int run = 0; run < kMostRuns && spent < kEnoughNs; ++run) {
    if (!pipeline.submit(0, {{&in, 1}, {&out, 1}, &meta})) std::exit(1);
    const int64_t ns = pipeline.wait(0).compute_ns;
    best = std::min(best, ns);
    spent += ns;
  }
  measured.frame_ms = milliseconds(best);
  return measured;
}

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
  Measured tuned, plain;
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
          "Written by `bench_operations` (`cmake -DFRAMELANE_BENCH=ON`), which also writes "
          "`bench/results/operations-cpu.json`.\n\n"
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

int run() {
  const Start start = measure_start();
  const std::string cpu = halide::make_cpu_device()->info().name;
  halide::CpuCompiler tuned, plain({.scheduled = false});
  std::vector<Row> rows;
  bool faster = true;
  for (const Workload& workload : workloads()) {
    for (const PixelFormat pixel : kPixels) {
      rows.push_back({workload.name, pixel, measure(tuned, workload, pixel), measure(plain, workload, pixel)});
      const Row& row = rows.back();
      faster = faster && row.tuned.frame_ms < row.plain.frame_ms;
      std::printf("%-30s %-8s %8.3f ms, unscheduled %8.3f ms, compile %4.0f ms\n", row.operation.c_str(),
                  pixel_name(pixel).c_str(), row.tuned.frame_ms, row.plain.frame_ms, row.tuned.compile_ms);
      std::fflush(stdout);
    }
  }
  mkdir("bench/results", 0777);
  write_json("bench/results/operations-cpu.json", cpu, start, rows);
  write_markdown("docs/operations-cpu.md", cpu, start, rows);
  if (!faster) std::fprintf(stderr, "a schedule is slower than none\n");
  return faster ? 0 : 1;
}

}  // namespace
}  // namespace framelane

int main() {
  return framelane::run();
}
