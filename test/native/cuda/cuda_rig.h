// A GPU of the fake driver with all its parts, and a program of two kernels whose results can be told.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/cuda_pipeline.h"
#include "fakes/cuda/fake_cuda.h"
#include "fakes/eventually.h"

namespace framelane::cuda::test {

// out[i] = in[i] + n; in two steps, through a block of the stream's memory.
inline const std::string kShiftPtx = R"(.version 7.1
.target sm_86
.address_size 64
.visible .entry shift(
    .param .u64 shift_param_0, .param .u64 shift_param_1, .param .u32 shift_param_2, .param .u32 shift_param_3
)
{
  ld.param.u64 %rd1, [shift_param_0];
  ld.param.u64 %rd2, [shift_param_1];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  ld.global.u8 %r1, [%rd4];
  st.global.u8 [%rd3], %r1;
  ret;
}
)";

// Thread-safety: as KernelProgram says; the settings are set before the pipeline is made.
class ShiftProgram final : public KernelProgram {
 public:
  struct Settings {
    FrameFormat format = FrameFormat::packed(PixelFormat::mono8, 33, 9);
    Region reads;  // empty: all
    std::string_view not_replayable;
  };
  ShiftProgram(const Driver& driver, Settings settings) : driver_(driver), settings_(settings) {}
  ~ShiftProgram() override {
    if (module_ != nullptr) driver_.cuModuleUnload(module_);
  }

  std::span<const FrameFormat> inputs() const noexcept override { return {&settings_.format, 1}; }
  std::span<const FrameFormat> outputs() const noexcept override { return {&settings_.format, 1}; }
  FrameFormat output_for(size_t, std::span<const FrameFormat> in) const noexcept override {
    return FrameFormat::packed(in[0].pixel, in[0].width, in[0].height);
  }
  Region reads(size_t, std::span<const FrameFormat> in) const noexcept override {
    return settings_.reads.width != 0 ? settings_.reads : Region{0, 0, in[0].width, in[0].height};
  }
  std::string_view not_replayable() const noexcept override { return settings_.not_replayable; }

  Status enqueue(const LaunchPlace& place, std::span<const DeviceFrame> in,
                 std::span<const DeviceFrame> out) noexcept override {
    if (Status status = find(); !status) return status;
    const auto bytes = static_cast<unsigned>(in[0].format.bytes());
    Result<CUdeviceptr> between = place.memory->allocate(bytes);
    if (!between) return between.error();
    Status status = launch(place, between.value(), in[0].data, 0, bytes);
    if (status) status = launch(place, out[0].data, between.value(), static_cast<unsigned>(value_), bytes);
    if (Status released = place.memory->release(between.value()); !released) return released;
    return status;
  }

  std::vector<ParameterInfo> parameters() const override { return {{"shift.value", value_, 0, 255}}; }
  Status set_parameter(const std::string& name, double value) noexcept override {
    if (name != "shift.value" || !(value >= 0 && value <= 255)) return Error{ErrorCode::invalid_argument, name};
    value_ = value;
    return {};
  }

 private:
  Status find() noexcept {
    if (function_ != nullptr) return {};
    if (const CUresult result = driver_.cuModuleLoadData(&module_, kShiftPtx.c_str()); result != CUDA_SUCCESS)
      return driver_.error("cuModuleLoadData", result);
    if (const CUresult result = driver_.cuModuleGetFunction(&function_, module_, "shift"); result != CUDA_SUCCESS)
      return driver_.error("cuModuleGetFunction", result);
    return {};
  }
  Status launch(const LaunchPlace& place, CUdeviceptr out, CUdeviceptr in, unsigned n, unsigned bytes) noexcept {
    std::array<void*, 4> parameters = {&out, &in, &n, &bytes};
    const CUresult result =
        driver_.cuLaunchKernel(function_, 1, 1, 1, 32, 1, 1, 0, place.stream, parameters.data(), nullptr);
    if (result != CUDA_SUCCESS) return driver_.error("cuLaunchKernel", result);
    return {};
  }

  const Driver& driver_;
  const Settings settings_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  double value_ = 1;
};

// Thread-safety: the test's thread.
class CudaRig {
 public:
  // On a narrow bus one copy goes at a time.
  enum class BusWidth : uint8_t { usual, narrow };
  explicit CudaRig(const char* options = "", int64_t frame_timeout_ns = 0, BusWidth width = BusWidth::usual)
      : bus(width == BusWidth::usual ? Bus::kUpload : kOne, width == BusWidth::usual ? Bus::kDownload : kOne) {
    fake.reset(options);
    fake.kernel("shift", run_shift, const_cast<fake_cuda::FakeCuda*>(&fake));
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    Result<Gpu> gpu = find_gpu(driver, "cuda:0");
    EXPECT_TRUE(gpu.ok());
    Result<std::unique_ptr<Context>> opened = Context::open(driver, gpu.value());
    EXPECT_TRUE(opened.ok());
    context = opened.take();
    EXPECT_TRUE(context->make_current().ok());
    DeviceCacheOptions cache_options;
    cache_options.reserve_bytes = 8 << 20;
    with_its_thread([&] {
      Result<std::unique_ptr<DeviceCache>> made = DeviceCache::open(driver, context->handle(), cache_options);
      EXPECT_TRUE(made.ok());
      cache = made.take();
    });
    host = std::make_unique<HostMemory>(*context);
    watch = std::make_unique<Watch>(*context, frame_timeout_ns);
    with_its_thread([&] { EXPECT_TRUE(bus.open(*context).ok()); });
  }
  ~CudaRig() {
    watch.reset();
    host.reset();
    cache.reset();
    bus.close();
    context.reset();
    for (const Admission* way : {&bus.upload, &bus.download}) {
      EXPECT_EQ(way->copies(), 0U) << "somebody still has a turn on the bus";
      EXPECT_EQ(way->bytes(), 0U);
    }
    if (!abandoned_) {
      EXPECT_EQ(fake.check_leaks(), 0U) << fake.report_text();
      EXPECT_EQ(fake.detections(nullptr), 0U) << fake.report_text();
    }
    fake.reset("");
  }
  CudaRig(const CudaRig&) = delete;
  CudaRig& operator=(const CudaRig&) = delete;

  [[nodiscard]] DeviceParts parts() { return {*context, *cache, *host, *watch, bus, replay}; }
  [[nodiscard]] Result<std::unique_ptr<Pipeline>> open(uint32_t lanes = 1, ShiftProgram::Settings settings = {},
                                                       ServiceWishes wishes = {}) {
    PipelineRequest request;
    request.channel = "test";
    request.inputs = {settings.format};
    request.lanes = lanes;
    request.wishes = wishes;
    return CudaPipeline::open(parts(), std::make_unique<ShiftProgram>(driver, settings), request);
  }

  // The device is lost: it gives nothing back any more, and only the end of the process does.
  void abandon() { abandoned_ = true; }

  const fake_cuda::FakeCuda& fake = fake_cuda::FakeCuda::get();
  const Driver& driver = *fake.driver;
  std::unique_ptr<Context> context;
  std::unique_ptr<DeviceCache> cache;
  std::unique_ptr<HostMemory> host;
  std::unique_ptr<Watch> watch;
  Bus bus;
  bool replay = true;

 private:
  // What starts a thread with the context: on a busy machine that call would be counted among the frames' calls.
  template <typename Open>
  void with_its_thread(const Open& open) {
    const uint64_t before = driver.cuCtxSetCurrent.calls();
    open();
    EXPECT_TRUE(fakes::eventually([&] { return driver.cuCtxSetCurrent.calls() > before; }));
  }

  bool abandoned_ = false;
  static constexpr Admission::Limits kOne{.bytes = 1, .fewest_copies = 1, .patience_ns = 60'000'000'000};
  static void run_shift(const fake_cuda::FakeLaunch& launch, void* user) {
    const auto& fake = *static_cast<const fake_cuda::FakeCuda*>(user);
    auto* const out = static_cast<unsigned char*>(fake.host_address(launch.parameter[0].value));
    const auto* const in = static_cast<const unsigned char*>(fake.host_address(launch.parameter[1].value));
    if (out == nullptr || in == nullptr) return;
    for (uint64_t i = 0; i < launch.parameter[3].value; ++i)
      out[i] = static_cast<unsigned char>(in[i] + launch.parameter[2].value);
  }
};

// Slots in memory that is registered, as a ring's are. Thread-safety: the test's thread.
class Slots {
 public:
  Slots(CudaRig& rig, const FrameFormat& format, size_t count)
      : rig_(rig), format_(format), bytes_(format.bytes() * count) {
    EXPECT_TRUE(rig_.host->adopt(bytes_.data(), bytes_.size(), format.bytes()).ok());
  }
  ~Slots() { rig_.host->forget(bytes_.data()); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  [[nodiscard]] std::byte* slot(size_t index) { return bytes_.data() + index * format_.bytes(); }
  [[nodiscard]] FrameView view(size_t index) { return {slot(index), format_, MemoryKind::host}; }
  void fill(size_t index, unsigned char value) { std::memset(slot(index), value, format_.bytes()); }
  [[nodiscard]] bool holds(size_t index, unsigned char value) {
    for (size_t i = 0; i < format_.bytes(); ++i)
      if (slot(index)[i] != std::byte{value}) return false;
    return true;
  }

 private:
  CudaRig& rig_;
  const FrameFormat format_;
  std::vector<std::byte> bytes_;
};

inline const FrameFormat kFormat = ShiftProgram::Settings().format;

// Thread-safety: both from any thread.
class Told final : public LaneListener {
 public:
  void lane_done(LaneIndex) noexcept override { told.fetch_add(1); }
  std::atomic<int> told{0};
};

class Lost final : public DeviceListener {
 public:
  void device_lost(const Error& why) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      message_ = why.message;
    }
    code.store(why.code);
    times.fetch_add(1);
  }
  [[nodiscard]] std::string message() const {
    const std::lock_guard lock(mutex_);
    return message_;
  }
  std::atomic<ErrorCode> code{ErrorCode::ok};
  std::atomic<int> times{0};

 private:
  mutable std::mutex mutex_;
  std::string message_;
};

}  // namespace framelane::cuda::test
