#include "halide/cpu_device.h"

#include <unistd.h>

#include <fstream>
#include <thread>

#include "halide/cpu_compiler.h"

namespace framelane::halide {
namespace {

std::string processor_name() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

// Thread-safety: as Device says; immutable but for the compiler's cache.
class CpuDevice final : public Device {
 public:
  CpuDevice() {
    info_.id = "cpu";
    info_.cores = std::max(1U, std::thread::hardware_concurrency());
    info_.name = processor_name() + ", " + std::to_string(info_.cores) + (info_.cores == 1 ? " core" : " cores");
    info_.memory_bytes = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
  }

  const DeviceInfo& info() const noexcept override { return info_; }
  Status adopt_host(void*, size_t, size_t) override { return {}; }
  void forget_host(void*) noexcept override {}
  PipelineCompiler& compiler() noexcept override { return compiler_; }

 private:
  DeviceInfo info_;
  CpuCompiler compiler_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() {
  return std::make_unique<CpuDevice>();
}

}  // namespace framelane::halide
