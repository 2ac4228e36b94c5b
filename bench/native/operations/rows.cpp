#include "native/operations/rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <optional>
#include <thread>

#include "halide/cpu_compiler.h"
#include "native/operations/cpu.h"
#include "native/operations/gpu.h"

namespace framelane::bench {
namespace {

constexpr unsigned kMostCompileThreads = 16;

// One operation with one format. Thread-safety: a value.
struct Measured {
  const OperationCase* operation;
  FrameFormat format;
};

Result<std::vector<OperationCase>> chosen_cases(const OperationsRun& run) {
  Result<std::vector<OperationCase>> all = operation_cases(run.width, run.height);
  if (!all || run.operations.empty()) return all;
  std::vector<OperationCase> chosen;
  for (const std::string& name : run.operations) {
    const size_t before = chosen.size();
    for (const OperationCase& one : all.value())
      if (one.operation.name == name) chosen.push_back(one);
    if (chosen.size() == before) return Error{ErrorCode::invalid_argument, "there is no operation '" + name + "'"};
  }
  return chosen;
}

std::vector<Measured> measured_of(const std::vector<OperationCase>& cases, const OperationsRun& run) {
  std::vector<Measured> measured;
  for (const OperationCase& one : cases)
    for (const PixelFormat pixel : run.formats)
      if (one.takes(pixel)) measured.push_back({&one, FrameFormat::packed(pixel, run.width, run.height)});
  return measured;
}

// What is compiled first: in a process that takes longer, and is none of the rows'. A copy of next to no pixels.
PipelineRequest first_request() {
  PipelineRequest copy;
  copy.inputs = {FrameFormat::packed(PixelFormat::mono8, 16, 16)};
  return copy;
}

// JSON has no infinity, and what took no time was not measured.
std::string number_or_null(double value, const char* format) {
  if (!std::isfinite(value) || value <= 0) return "null";
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// What `bytes` in `frame_us` are of the device's `rate`, in bytes per second.
std::string fraction(uint64_t bytes, double frame_us, double rate) {
  return number_or_null(static_cast<double>(bytes) / (frame_us * 1e-6) / rate, "%.4f");
}

void print_place(const Measured& measured) {
  std::printf("{\"operation\":\"%s\",\"format\":\"%s\",\"width\":%u,\"height\":%u,", measured.operation->name.c_str(),
              std::string(info(measured.format.pixel).name).c_str(), measured.format.width, measured.format.height);
}

void print_row(const Measured& measured, const KernelTimes& times, double compile_ms, double rate) {
  print_place(measured);
  std::printf(
      "\"kernels\":%llu,\"frame_us\":%s,\"traffic_bytes\":%llu,\"stored_bytes\":%llu,\"bandwidth_fraction\":%s,"
      "\"traffic_fraction\":%s,\"compile_ms\":%.1f}\n",
      static_cast<unsigned long long>(times.kernels), number_or_null(times.frame_us, "%.2f").c_str(),
      static_cast<unsigned long long>(times.traffic_bytes), static_cast<unsigned long long>(times.stored_bytes),
      fraction(times.traffic_bytes, times.frame_us, rate).c_str(),
      fraction(times.traffic_bytes + 2 * times.stored_bytes, times.frame_us, rate).c_str(), compile_ms);
  std::fflush(stdout);
}

void print_row(const Measured& measured, const CpuTimes& times) {
  print_place(measured);
  std::printf(
      "\"kernels\":null,\"frame_us\":%s,\"traffic_bytes\":null,\"stored_bytes\":null,\"bandwidth_fraction\":null,"
      "\"traffic_fraction\":null,\"compile_ms\":%.1f}\n",
      number_or_null(times.frame_ms * 1e3, "%.2f").c_str(), times.compile_ms);
  std::fflush(stdout);
}

using CompileResults = std::vector<std::optional<Result<CompiledKernels>>>;

// In the order of `measured`, on as many threads as there are cores.
CompileResults compile_all(OperationsGpu& gpu, const std::vector<Measured>& measured, unsigned threads) {
  CompileResults results(measured.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < measured.size(); i = next++)
      results[i] = gpu.compile(request_of(*measured[i].operation, measured[i].format));
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return results;
}

// What the device's memory gives, in bytes per second, and what a kernel takes on next to no pixels.
Result<double> print_device(OperationsGpu& gpu, cuda::KernelProgram& copy, unsigned threads) {
  constexpr double kSeconds = 0.05;
  Result<double> rate = gpu.memory_rate();
  if (!rate) return rate.error();
  Result<KernelTimes> times = gpu.measure(copy, kSeconds);
  if (!times) return times.error();
  const double kernel_us = times.value().frame_us / static_cast<double>(times.value().kernels);
  std::printf(
      "{\"mode\":\"device\",\"gpu\":\"%s\",\"driver\":\"%s\",\"device_gbps\":%s,\"kernel_us\":%s,"
      "\"compile_threads\":%u}\n",
      gpu.gpu().info.name.c_str(), gpu.gpu().info.driver.c_str(), number_or_null(rate.value() / 1e9, "%.6g").c_str(),
      number_or_null(kernel_us, "%.2f").c_str(), threads);
  std::fflush(stdout);
  return rate;
}

Status print_on_gpu(const OperationsRun& run, const std::vector<Measured>& measured) {
  Result<std::unique_ptr<OperationsGpu>> opened = OperationsGpu::open(run.library, run.device);
  if (!opened) return opened.error();
  OperationsGpu& gpu = *opened.value();
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, kMostCompileThreads);
  const unsigned threads = std::min(cores, static_cast<unsigned>(measured.size()));
  Result<CompiledKernels> copying = gpu.compile(first_request());
  if (!copying) return copying.error();
  CompileResults compiled = compile_all(gpu, measured, threads);
  Result<double> rate = print_device(gpu, *copying.value().program, threads);
  if (!rate) return rate.error();
  for (size_t i = 0; i < measured.size(); ++i) {
    Result<CompiledKernels>& kernels = *compiled[i];
    if (!kernels) return Error{kernels.error().code, measured[i].operation->name + ": " + kernels.error().message};
    Result<KernelTimes> times = gpu.measure(*kernels.value().program, run.seconds);
    if (!times) return Error{times.error().code, measured[i].operation->name + ": " + times.error().message};
    print_row(measured[i], times.value(), kernels.value().compile_ms, rate.value());
  }
  return {};
}

Status print_on_cpu(const OperationsRun& run, const std::vector<Measured>& measured) {
  std::printf(
      "{\"mode\":\"device\",\"gpu\":null,\"driver\":null,\"device_gbps\":null,\"kernel_us\":null,"
      "\"compile_threads\":1}\n");
  std::fflush(stdout);
  halide::CpuCompiler compiler;
  if (Result<std::unique_ptr<Pipeline>> first = compiler.compile(first_request()); !first) return first.error();
  for (const Measured& one : measured) {
    PipelineRequest request = request_of(*one.operation, one.format);
    request.threads = run.threads;
    Result<CpuTimes> times = measure_on_cpu(compiler, request, static_cast<int64_t>(run.seconds * 1e9));
    if (!times) return Error{times.error().code, one.operation->name + ": " + times.error().message};
    print_row(one, times.value());
  }
  return {};
}

}  // namespace

Status print_rows(const OperationsRun& run) {
  Result<std::vector<OperationCase>> cases = chosen_cases(run);
  if (!cases) return cases.error();
  const std::vector<Measured> measured = measured_of(cases.value(), run);
  return run.device == "cpu" ? print_on_cpu(run, measured) : print_on_gpu(run, measured);
}

}  // namespace framelane::bench
