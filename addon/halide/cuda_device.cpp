#include "halide/cuda_device.h"

#include <array>

#include "cuda/device_cache.h"
#include "cuda/host_memory.h"
#include "halide/cuda_bridge.h"
#include "halide/cuda_compiler.h"

namespace framelane::halide {
namespace {

constexpr const char* kSystemLibrary = "libcuda.so.1";

std::string_view kind_name(cuda::CallKind kind) noexcept {
  static constexpr std::array<std::string_view, 12> kNames = {"query",       "setup",       "alloc", "free",
                                                              "device_sync", "copy",        "event", "wait",
                                                              "launch",      "module_load", "link",  "graph"};
  return kNames[size_t(kind)];
}

// Thread-safety: as Device says; what it consists of has locks of its own.
class CudaDevice final : public Device {
 public:
  CudaDevice(std::unique_ptr<cuda::Context> context, std::unique_ptr<cuda::DeviceCache> cache,
             std::unique_ptr<cuda::HostMemory> host, std::unique_ptr<cuda::Bus> bus, const DeviceOptions& options)
      : context_(std::move(context)),
        cache_(std::move(cache)),
        host_(std::move(host)),
        watch_(*context_, options.frame_timeout_ns),
        bus_(std::move(bus)),
        compiler_({*context_, *cache_, *host_, watch_, *bus_, options.replay},
                  {.cache_directory = options.cache_directory}) {}
  // Every pipeline is gone. The memory goes back with the context current.
  ~CudaDevice() override { std::ignore = context_->make_current(); }

  const DeviceInfo& info() const noexcept override { return context_->gpu().info; }
  std::byte* lend_host(size_t size_bytes) noexcept override { return host_->lend(size_bytes); }
  Status adopt_host(void* data, size_t size_bytes, size_t slot_bytes) override {
    if (Status current = context_->make_current(); !current) return current;
    return host_->adopt(data, size_bytes, slot_bytes);
  }
  void forget_host(void* data) noexcept override {
    if (context_->make_current()) host_->forget(data);
  }
  PipelineCompiler& compiler() noexcept override { return compiler_; }

  Status set_limits(const std::string& channel, const DeviceLimits& limits) override {
    const cuda::MemoryLimits bounds{limits.max_bytes, limits.max_buffers};
    if (channel.empty())
      cache_->set_limits(bounds);
    else
      cache_->set_channel_limits(channel, bounds);
    return {};
  }

  void report(DeviceReport& report) const override {
    const cuda::DeviceCacheStatistics memory = cache_->statistics();
    report.in_use_bytes = memory.bytes_in_use;
    report.cached_bytes = memory.bytes_cached;
    const uint64_t blocks = memory.bytes_in_use + memory.bytes_cached;
    report.reserved_bytes = memory.bytes_reserved > blocks ? memory.bytes_reserved - blocks : 0;
    report.high_water_bytes = memory.bytes_high_water;
    report.buffers = memory.buffers;
    report.hits = memory.hits;
    report.misses = memory.misses;
    report.refusals = memory.failures;
    report.trims = memory.blocks_trimmed;
    report.pinned_bytes = host_->bytes();
    report.pinned_lent_bytes = host_->lent_bytes();
    report.pinned_refusals = host_->refused();
    report.upload_waits = bus_->upload.waits();
    report.download_waits = bus_->download.waits();
    report.bus_overruns = bus_->upload.overrun() + bus_->download.overrun();
    report.steady_alarms = memory.steady_allocations + memory.steady_frees;
    std::array<cuda::Driver::Count, cuda::Driver::kFunctions> counts;
    const size_t functions = context_->driver().counts(counts);
    report.calls.clear();
    for (size_t i = 0; i < functions; ++i)
      report.calls.push_back({counts[i].name, kind_name(counts[i].kind), counts[i].calls});
  }

  void listen(DeviceListener& listener) override { watch_.listen(listener); }

 private:
  const std::unique_ptr<cuda::Context> context_;
  const std::unique_ptr<cuda::DeviceCache> cache_;
  const std::unique_ptr<cuda::HostMemory> host_;
  cuda::Watch watch_;
  const std::unique_ptr<cuda::Bus> bus_;
  CudaCompiler compiler_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_cuda_device(const DeviceOptions& options) {
  Result<const cuda::Driver*> driver = cuda::Driver::open(options.library.empty() ? kSystemLibrary : options.library);
  if (!driver) return driver.error();
  Result<cuda::Gpu> gpu = cuda::find_gpu(*driver.value(), options.id);
  if (!gpu) return gpu.error();
  if (Status status = install_cuda_bridge(*driver.value()); !status) return status.error();
  Result<std::unique_ptr<cuda::Context>> context = cuda::Context::open(*driver.value(), gpu.value());
  if (!context) return context.error();
  if (Status status = context.value()->make_current(); !status) return status.error();
  cuda::DeviceCacheOptions memory;
  memory.reserve_bytes = options.reserve_bytes;
  memory.limits = {options.limits.max_bytes, options.limits.max_buffers};
  Result<std::unique_ptr<cuda::DeviceCache>> cache =
      cuda::DeviceCache::open(*driver.value(), context.value()->handle(), memory);
  if (!cache) return cache.error();
  auto host = std::make_unique<cuda::HostMemory>(*context.value());
  if (Status reserved = host->reserve(options.pinned_reserve_bytes); !reserved) return reserved.error();
  auto bus = std::make_unique<cuda::Bus>();
  if (Status opened = bus->open(*context.value()); !opened) return opened.error();
  // Who reserves wants to hear when it was not enough.
  if (options.reserve_bytes != 0) cache.value()->mark_steady();
  return std::unique_ptr<Device>(
      std::make_unique<CudaDevice>(context.take(), cache.take(), std::move(host), std::move(bus), options));
}

}  // namespace framelane::halide
