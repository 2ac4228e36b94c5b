// A GPU of the fake driver as a device, frames in memory that it may copy from, and a directory for machine code.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "fakes/cuda/fake_cuda.h"
#include "halide/cuda_device.h"
#include "native/halide/frames.h"

namespace framelane::test {

// Thread-safety: the test's thread.
class CudaRig : public testing::Test {
 protected:
  CudaRig() {
    fake.reset("");
    std::string pattern = (std::filesystem::temp_directory_path() / "framelane-cubins-XXXXXX").string();
    directory = mkdtemp(pattern.data());
  }
  ~CudaRig() override {
    device.reset();
    EXPECT_EQ(fake.check_leaks(), 0U) << fake.report_text();
    EXPECT_EQ(fake.detections(nullptr), 0U) << fake.report_text();
    fake.reset("");
    std::filesystem::remove_all(directory);
  }

  [[nodiscard]] DeviceOptions options() const {
    DeviceOptions options;
    options.id = "cuda:0";
    options.library = fake_cuda::FakeCuda::path();
    options.cache_directory = directory;
    return options;
  }
  void open() { open(options()); }
  void open(const DeviceOptions& with) {
    device.reset();
    Result<std::unique_ptr<Device>> made = halide::make_cuda_device(with);
    ASSERT_TRUE(made.ok()) << made.error().message;
    device = made.take();
  }
  [[nodiscard]] Result<std::unique_ptr<Pipeline>> compile(Operations operations, const FrameFormat& format) const {
    return device->compiler().compile(request_of(std::move(operations), format));
  }

  const fake_cuda::FakeCuda& fake = fake_cuda::FakeCuda::get();
  const cuda::Driver& driver = *fake.driver;
  std::string directory;
  std::unique_ptr<Device> device;
};

// A frame whose memory the device knows. Thread-safety: a value; the device outlives it.
struct AdoptedFrame : HeldFrame {
  AdoptedFrame(Device& of, const FrameFormat& like) : HeldFrame(like), device(of) {
    EXPECT_TRUE(device.adopt_host(bytes.data(), bytes.size(), bytes.size()).ok());
  }
  ~AdoptedFrame() { device.forget_host(bytes.data()); }
  AdoptedFrame(const AdoptedFrame&) = delete;
  AdoptedFrame& operator=(const AdoptedFrame&) = delete;

  Device& device;
};

}  // namespace framelane::test
