#include "fakes/cuda/options.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "fakes/cuda/functions.h"
#include "fakes/cuda/stream.h"

namespace framelane::fake_cuda {
namespace {

[[noreturn]] void reject(const std::string& option) {
  std::fprintf(stderr, "the fake CUDA driver: it does not know the option '%s'\n", option.c_str());
  std::abort();
}

// "256MiB", "12000000".
uint64_t read_size(const std::string& text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit(end);
  if (unit.empty() || unit == "B") return number;
  if (unit == "KiB") return number << 10;
  if (unit == "MiB") return number << 20;
  if (unit == "GiB") return number << 30;
  reject(text);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// False: the key is none of these.
bool set_number(const std::string& key, const std::string& value) {
  Options& options = state().options;
  if (key == "devices")
    options.devices = std::min(16, std::max(0, static_cast<int>(read_size(value))));
  else if (key == "memory")
    options.memory_bytes = read_size(value);
  else if (key == "pinned")
    options.pinned_bytes = read_size(value);
  else if (key == "sm")
    options.sm = static_cast<int>(read_size(value));
  else if (key == "numa")
    options.numa_node = std::atoi(value.c_str());
  else if (key == "cuda")
    options.version = static_cast<int>(read_size(value));
  else if (key == "h2d")
    options.h2d_bytes_per_second = read_size(value);
  else if (key == "d2h")
    options.d2h_bytes_per_second = read_size(value);
  else if (key == "latency")
    options.latency_ns = static_cast<int64_t>(read_size(value));
  else if (key == "kernel")
    options.kernel_ns = static_cast<int64_t>(read_size(value));
  else if (key == "abort")
    options.abort_on_detect = value == "1";
  else if (key == "steady")
    options.steady = value == "1";
  else
    return false;
  return true;
}

bool set_fault(const std::string& key, const std::string& value) {
  std::vector<std::string> parts = split(value, ':');
  parts.resize(4, "1");
  const uint64_t kth = read_size(parts[1]);
  const std::string kernel = parts[0] == "*" ? "" : parts[0];
  if (key == "fail")
    fail_function(parts[0] == "*" ? std::nullopt : std::optional(function_named(parts[0])), kth,
                  static_cast<CUresult>(read_size(parts[2])), read_size(parts[3]));
  else if (key == "delay")
    delay_function(function_named(parts[0]), kth);
  else if (key == "poison")
    poison_function(function_named(parts[0]), kth);
  else if (key == "poison_kernel")
    state().kernel_faults.push_back({kernel, kth, true});
  else if (key == "hang")
    state().kernel_faults.push_back({kernel, kth, false});
  else if (key == "lose")
    lose(std::atoi(parts[0].c_str()), static_cast<CUresult>(kth));
  else if (key == "release")
    release_hung_kernels();
  else
    return false;
  return true;
}

}  // namespace

void apply_options(const std::string& text) {
  for (const std::string& option : split(text, ',')) {
    if (option.empty()) continue;
    const size_t equals = option.find('=');
    if (equals == std::string::npos) reject(option);
    const std::string key = option.substr(0, equals), value = option.substr(equals + 1);
    if (key == "report")
      state().options.report_path = value;
    else if (key == "control")
      state().options.control_path = value;
    else if (!set_number(key, value) && !set_fault(key, value))
      reject(option);
  }
}

void read_control_file() {
  const std::string& path = state().options.control_path;
  if (access(path.c_str(), R_OK) != 0) return;
  // Only one of several processes that look at it gets it, and gets all of it.
  const std::string taken = path + "." + std::to_string(getpid());
  if (std::rename(path.c_str(), taken.c_str()) != 0) return;
  std::ifstream file(taken);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  unlink(taken.c_str());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  apply_options(text);
}

}  // namespace framelane::fake_cuda
