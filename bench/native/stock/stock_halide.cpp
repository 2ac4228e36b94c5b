// What stock Halide makes of the same frames on the same GPU: the pipeline of the service, compiled for the CUDA
// runtime that Halide brings along, with N channels of one thread each. Every frame goes up from and down to its slot
// of page-locked memory. `framelane bench channels` and `latency` run it.
//   bench_stock_halide [--workload NAME] [--size WxH] [--modes A,B] [--channels 1,2,4] [--fps F] [--stagger auto|off]
//                      [--seconds S] [--runs K] [--device cuda:0] [--library FILE] [--compare 0|1]
//                      [--alone 0|1]
// --alone 1: prints what a frame's steps take by themselves, at the pace of --fps, and nothing else. Otherwise
// prints a JSON object on each line: first what the bus carries (mode `pcie`), then one for each number of channels and
// mode. --modes "": only what the bus carries. --runs: a row is the median of so many, one after the other.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "native/stock/alone.h"
#include "native/stock/bus_rate.h"
#include "native/stock/channels.h"
#include "native/words.h"

namespace framelane::bench {
namespace {

constexpr int kLeastAlone = 3;      // frames
constexpr double kAloneFps = 1000;  // so many of them in a second of --seconds where no rate is given
constexpr int kBusWindows = 5;
constexpr int64_t kBusWindowNs = 500'000'000;

// Thread-safety: a value.
struct Options {
  Workload workload = *find_workload("r14");
  std::vector<StockMode> modes = {StockMode::stock, StockMode::streams, StockMode::reuse};
  std::vector<uint32_t> channels = {1};
  double pace_fps = 0;
  bool stagger = true;
  double seconds = 4;
  int runs = 1;
  std::string device = "cuda:0";
  std::string library = "libcuda.so.1";
  bool compare = true;
  bool alone = false;
  int64_t bus_window_ns = kBusWindowNs;
};

bool read_modes(const std::string& value, std::vector<StockMode>& modes) {
  modes.clear();
  for (const std::string& word : words_of(value)) {
    size_t mode = 0;
    while (mode < std::size(kStockModeNames) && word != kStockModeNames[mode]) ++mode;
    if (mode == std::size(kStockModeNames)) return false;
    modes.push_back(static_cast<StockMode>(mode));
  }
  return true;
}

bool read_channels(const std::string& value, std::vector<uint32_t>& channels) {
  channels.clear();
  for (const std::string& word : words_of(value)) {
    const int number = std::atoi(word.c_str());
    if (number < 1 || number > 1024) return false;
    channels.push_back(static_cast<uint32_t>(number));
  }
  return true;
}

bool read_option(const std::string& name, const std::string& value, Options& options) {
  unsigned width = 0, height = 0;
  if (name == "--modes") return read_modes(value, options.modes);
  if (name == "--channels") return read_channels(value, options.channels);
  if (name == "--workload") {
    const std::optional<Workload> found = find_workload(value);
    if (found) options.workload = *found;
    return found.has_value();
  }
  if (name == "--size") {
    if (std::sscanf(value.c_str(), "%ux%u", &width, &height) != 2 || width == 0 || height == 0) return false;
    options.workload.format = FrameFormat::packed(options.workload.format.pixel, width, height);
    return true;
  }
  if (name == "--device") return options.device = value, true;
  if (name == "--library") return options.library = value, true;
  if (name == "--stagger") return options.stagger = value != "off", value == "auto" || value == "off";
  if (name == "--compare") return options.compare = value != "0", true;
  if (name == "--alone") return options.alone = value == "1", true;
  const double number = std::atof(value.c_str());
  if (name == "--runs") return options.runs = static_cast<int>(number), number >= 1 && number <= 100;
  if (name == "--fps") return options.pace_fps = number, number >= 0;
  if (name == "--seconds") {
    options.seconds = number;
    // A short run, as the tests make it, is short as a whole.
    options.bus_window_ns = std::min(kBusWindowNs, static_cast<int64_t>(number * 1e9));
    return number > 0;
  }
  return false;
}

void print_bus(const StockGpu& gpu, double bytes_per_second) {
  std::printf("{\"mode\":\"pcie\",\"gpu\":\"%s\",\"driver\":\"%s\",\"pcie_both_gbps\":%.6g}\n",
              gpu.gpu().info.name.c_str(), gpu.gpu().info.driver.c_str(), bytes_per_second / 1e9);
  std::fflush(stdout);
}

// `runs`, in the order in which they were made, by their frames per second.
std::string list_of(const std::vector<StockRow>& runs) {
  std::string list;
  char number[32];
  for (const StockRow& run : runs) {
    std::snprintf(number, sizeof number, "%s%.1f", list.empty() ? "" : ",", run.fps);
    list += number;
  }
  return list;
}

void print_row(const Options& options, const StockRun& run, double bus_fps, const StockRow& row,
               const std::string& fps_runs) {
  const FrameFormat& format = options.workload.format;
  std::printf("{\"workload\":\"%s\",\"size\":\"%ux%u\",\"mode\":\"%s\",\"device\":\"%s\",\"channels\":%u,",
              options.workload.name.c_str(), format.width, format.height, kStockModeNames[size_t(run.mode)],
              options.device.c_str(), run.channels);
  if (run.pace_fps > 0)
    std::printf("\"pace_fps\":%g,\"stagger\":\"%s\",", run.pace_fps, run.stagger ? "auto" : "off");
  else
    std::printf("\"pace_fps\":null,\"stagger\":null,");
  std::printf(
      "\"threads\":1,\"in_flight\":1,\"wait\":\"driver\",\"fps\":%.1f,\"fps_runs\":[%s],\"p50_us\":%.1f,\"p99_us\":%."
      "1f,"
      "\"p999_us\":%.1f,\"max_us\":%.1f,\"pcie_fraction\":%.4f,\"lost\":%llu,\"engine_cores\":%.2f,",
      row.fps, fps_runs.c_str(), row.p50_us, row.p99_us, row.p999_us, row.max_us, row.fps / bus_fps,
      static_cast<unsigned long long>(row.lost), row.cores);
  if (run.compare)
    std::printf("\"compared\":{\"frames\":%llu,\"worst_difference\":%d},",
                static_cast<unsigned long long>(row.compared), row.worst_difference);
  else
    std::printf("\"compared\":null,");
  std::printf(
      "\"captured\":null,\"driver_calls_per_frame\":{\"alloc\":%.4g,\"free\":%.4g,\"module_load\":%.4g,"
      "\"device_sync\":%.4g,\"launch\":%.4g}}\n",
      row.allocs, row.frees, row.module_loads, row.device_syncs, row.launches);
  std::fflush(stdout);
}

Status measure_rows(const Options& options, const StockGpu& gpu, double bus_fps) {
  Result<Pictures> pictures = make_pictures(options.workload, StockChannel::kInputs);
  if (!pictures) return pictures.error();
  Result<std::unique_ptr<StockCode>> code = compile_stock(gpu, options.workload);
  if (!code) return code.error();
  for (const uint32_t channels : options.channels) {
    for (const StockMode mode : options.modes) {
      const StockRun run{mode, channels, options.pace_fps, options.stagger, options.seconds, options.compare};
      std::vector<StockRow> rows;
      for (int i = 0; i < options.runs; ++i) {
        Result<StockRow> row = measure_stock(gpu, *code.value(), pictures.value(), run);
        if (!row) return row.error();
        rows.push_back(row.take());
        if (rows.back().worst_difference > 1)
          return Error{ErrorCode::pipeline_failed, "a frame is not what the CPU makes of it: " +
                                                       std::to_string(rows.back().worst_difference) + " grey levels"};
      }
      const std::string fps_runs = list_of(rows);
      std::sort(rows.begin(), rows.end(), [](const StockRow& a, const StockRow& b) { return a.fps < b.fps; });
      print_row(options, run, bus_fps, rows[(rows.size() - 1) / 2], fps_runs);
    }
  }
  return {};
}

Status measure_steps_alone(const Options& options, const StockGpu& gpu) {
  Result<Pictures> pictures = make_pictures(options.workload, StockChannel::kInputs);
  if (!pictures) return pictures.error();
  Result<std::unique_ptr<StockCode>> code = compile_stock(gpu, options.workload);
  if (!code) return code.error();
  const bool paced = options.pace_fps > 0;
  const int frames = static_cast<int>(options.seconds * (paced ? options.pace_fps : kAloneFps));
  const int64_t period_ns = paced ? static_cast<int64_t>(1e9 / options.pace_fps) : 0;
  Result<AloneTimes> times =
      measure_alone(gpu, *code.value(), pictures.value(), std::max(frames, kLeastAlone), period_ns);
  if (!times) return times.error();
  const AloneTimes& alone = times.value();
  std::printf("{\"mode\":\"alone\",\"upload_us\":%.1f,\"kernels_us\":", alone.upload_us);
  if (alone.kernels_us > 0)
    std::printf("%.1f", alone.kernels_us);
  else
    std::printf("null");
  std::printf(",\"kernels_launched_us\":%.1f,\"download_us\":%.1f}\n", alone.kernels_launched_us, alone.download_us);
  return {};
}

Status measure(const Options& options) {
  Result<std::unique_ptr<StockGpu>> gpu = StockGpu::open(options.library, options.device);
  if (!gpu) return gpu.error();
  if (options.alone) return measure_steps_alone(options, *gpu.value());
  const size_t bytes = options.workload.format.bytes();
  Result<double> bus = measure_bus(gpu.value()->driver(), bytes, kBusWindows, options.bus_window_ns);
  if (!bus) return bus.error();
  print_bus(*gpu.value(), bus.value());
  if (options.modes.empty()) return {};
  return measure_rows(options, *gpu.value(), bus.value() / static_cast<double>(bytes));
}

}  // namespace
}  // namespace framelane::bench

int main(int count, char** words) {
  framelane::bench::Options options;
  bool good = count % 2 == 1;
  for (int i = 1; good && i < count; i += 2) good = framelane::bench::read_option(words[i], words[i + 1], options);
  if (!good) {
    std::fprintf(
        stderr,
        "usage: %s [--workload NAME] [--size WxH] [--modes A,B] [--channels 1,2,4] [--fps F] [--stagger auto|off]\n"
        "    [--seconds S] [--runs K] [--device cuda:0] [--library FILE] [--compare 0|1] [--alone 0|1]\n",
        words[0]);
    return 64;
  }
  if (framelane::Status measured = framelane::bench::measure(options); !measured) {
    std::fprintf(stderr, "bench_stock_halide: %s\n", measured.error().message.c_str());
    return 1;
  }
  return 0;
}
