#include "native/gpu/gpu_rig.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "halide/cpu_device.h"
#include "halide/cuda_device.h"

namespace framelane::gpu {
namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::unique_ptr<Device>& place() {
  static std::unique_ptr<Device> open;
  return open;
}

DeviceOptions options() {
  DeviceOptions options;
  options.id = environment("FRAMELANE_TEST_DEVICE", "cuda:0");
  options.library = driver_library();
  options.reserve_bytes = uint64_t{1} << 30;
  return options;
}

}  // namespace

std::string driver_library() {
  return environment("FRAMELANE_CUDA_LIBRARY", "libcuda.so.1");
}

std::string missing() {
  if (void* const library = dlopen(driver_library().c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (dlsym(library, "framelane_fake_reset") != nullptr) return driver_library() + " is the fake driver";
  }
  if (place() != nullptr) return {};
  Result<std::unique_ptr<Device>> made = halide::make_cuda_device(options());
  if (!made) return made.error().message;
  place() = made.take();
  return {};
}

Device& device() {
  if (place() == nullptr) {
    std::fprintf(stderr, "no GPU: %s\n", missing().c_str());
    if (place() == nullptr) std::exit(77);
  }
  return *place();
}

void close_device() noexcept {
  place().reset();
}

const cuda::Driver& driver() {
  static const cuda::Driver& open = *cuda::Driver::open(driver_library()).take();
  return open;
}

Device& cpu() {
  static const std::unique_ptr<Device> shared = halide::make_cpu_device();
  return *shared;
}

test::HeldFrame noise(const FrameFormat& format, uint32_t seed) {
  test::HeldFrame frame(format);
  uint32_t state = seed * 2'654'435'761U + 1;
  const auto next = [&] { return state = state * 1'664'525U + 1'013'904'223U; };
  if (info(format.pixel).type == SampleType::float32) {
    for (size_t i = 0; i < frame.bytes.size() / 4; ++i)
      frame.samples<float>()[i] = static_cast<float>(next() >> 8) / 16'777'216.0F;
  } else {
    for (std::byte& byte : frame.bytes) byte = static_cast<std::byte>(next() >> 24);
  }
  return frame;
}

}  // namespace framelane::gpu
