#include <algorithm>
#include <cstring>

#include "fakes/cuda/functions.h"
#include "fakes/cuda/stream.h"
#include "fakes/cuda/touch.h"

namespace framelane::fake_cuda {
namespace {

constexpr size_t kMostParameters = std::size(FakeLaunch{}.parameter);

FakeParameter read_parameter(const KernelImage::Parameter& image, const void* value) {
  FakeParameter parameter;
  parameter.bytes = image.bytes;
  std::memcpy(&parameter.value, value, std::min(image.bytes, sizeof(parameter.value)));
  if (image.bytes != sizeof(uint64_t) || !is_device_address(parameter.value)) return parameter;
  const Extent extent = extent_at(parameter.value);
  parameter.is_pointer = extent.bytes > 0;
  parameter.written = image.written;
  parameter.block = extent.begin;
  parameter.block_bytes = extent.bytes;
  return parameter;
}

Work kernel_work(const std::shared_ptr<Module>& module, const KernelImage& kernel, FakeLaunch launch,
                 void** parameters) {
  Work work;
  work.kind = Work::Kind::kernel;
  work.what = "the kernel " + kernel.name;
  work.module = module;
  std::strncpy(launch.kernel, kernel.name.c_str(), sizeof(launch.kernel) - 1);
  launch.parameters = kernel.parameters.size();
  for (size_t at = 0; at < kernel.parameters.size(); ++at) {
    launch.parameter[at] = read_parameter(kernel.parameters[at], parameters[at]);
    if (kernel.parameters[at].bytes == sizeof(uint64_t) && is_device_address(launch.parameter[at].value))
      work.touches.push_back({launch.parameter[at].value, 0, kernel.parameters[at].written});
  }
  work.launch = std::make_shared<const FakeLaunch>(launch);
  return work;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters,
                        void** extra) {
  Call call(Function::cuLaunchKernel);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Context> context = call.context();
  if (!context) return call.refused();
  const auto found = state().kernels.find(function);
  if (found == state().kernels.end()) return CUDA_ERROR_INVALID_HANDLE;
  const auto [module, index] = found->second;
  const KernelImage& kernel = module->kernels[index];
  CUresult result = CUDA_SUCCESS;
  const std::shared_ptr<Stream> target = find_stream(call, stream, result);
  if (!target) return result;
  if (target->context != module->context) return CUDA_ERROR_INVALID_HANDLE;
  const uint64_t threads = uint64_t{block_x} * block_y * block_z;
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || threads == 0 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (grid_y > 65535 || grid_z > 65535 || shared_bytes > 232448) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr || (parameters == nullptr && !kernel.parameters.empty())) return CUDA_ERROR_INVALID_VALUE;
  if (kernel.parameters.size() > kMostParameters) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  FakeLaunch launch;
  launch.grid[0] = grid_x, launch.grid[1] = grid_y, launch.grid[2] = grid_z;
  launch.block[0] = block_x, launch.block[1] = block_y, launch.block[2] = block_z;
  launch.shared_bytes = shared_bytes;
  launch.device = context->device;
  return submit(call, stream, kernel_work(module, kernel, launch, parameters));
}

}  // namespace framelane::fake_cuda
