#include "node/make_device.h"

#include "cuda/gpu.h"
#include "halide/cpu_device.h"
#include "halide/cuda_device.h"

namespace framelane::node {

Result<std::unique_ptr<Device>> make_device(const DeviceOptions& options) {
  if (options.id == "cpu") return halide::make_cpu_device();
  if (options.id.rfind("cuda:", 0) == 0) return halide::make_cuda_device(options);
  return Error{ErrorCode::unsupported, "there is no device '" + options.id + "'"};
}

Result<std::vector<DeviceInfo>> list_gpus(const std::string& library) {
  const auto driver = cuda::Driver::open(library.empty() ? "libcuda.so.1" : library);
  if (!driver) return driver.error();
  const auto gpus = cuda::list_gpus(*driver.value());
  if (!gpus) return gpus.error();
  std::vector<DeviceInfo> infos;
  for (const cuda::Gpu& gpu : gpus.value()) infos.push_back(gpu.info);
  return infos;
}

}  // namespace framelane::node
