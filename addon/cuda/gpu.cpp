#include "cuda/gpu.h"

#include <array>
#include <cstdio>
#include <fstream>

namespace framelane::cuda {
namespace {

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex.data();
  }
  return text;
}

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which, int otherwise) {
  int value = otherwise;
  return driver.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : otherwise;
}

// The kernel knows where a bus is, also where the driver does not say.
int numa_node(const Driver& driver, CUdevice device, const std::string& bus_id) {
  const int told = attribute(driver, device, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1);
  if (told >= 0) return told;
  std::string name = bus_id;
  for (char& character : name) character = static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  std::ifstream file("/sys/bus/pci/devices/" + name + "/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

Result<Gpu> describe(const Driver& driver, int index) {
  Gpu gpu;
  if (const CUresult result = driver.cuDeviceGet(&gpu.handle, index); result != CUDA_SUCCESS)
    return driver.error("cuDeviceGet", result);
  std::array<char, 256> text{};
  if (const CUresult result = driver.cuDeviceGetName(text.data(), int(text.size()), gpu.handle); result != CUDA_SUCCESS)
    return driver.error("cuDeviceGetName", result);
  gpu.info.name = text.data();
  CUuuid uuid{};
  if (const CUresult result = driver.cuDeviceGetUuid(&uuid, gpu.handle); result != CUDA_SUCCESS)
    return driver.error("cuDeviceGetUuid", result);
  size_t bytes = 0;
  if (const CUresult result = driver.cuDeviceTotalMem(&bytes, gpu.handle); result != CUDA_SUCCESS)
    return driver.error("cuDeviceTotalMem", result);
  if (driver.cuDeviceGetPCIBusId(text.data(), int(text.size()), gpu.handle) == CUDA_SUCCESS)
    gpu.info.bus_id = text.data();
  gpu.info.id = "cuda:" + std::to_string(index);
  gpu.info.uuid = uuid_text(uuid);
  gpu.info.memory_bytes = bytes;
  gpu.info.cores = uint32_t(attribute(driver, gpu.handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  gpu.info.numa_node = numa_node(driver, gpu.handle, gpu.info.bus_id);
  gpu.info.driver = std::to_string(driver.version() / 1000) + "." + std::to_string(driver.version() % 1000 / 10);
  gpu.capability = 10 * attribute(driver, gpu.handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) +
                   attribute(driver, gpu.handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  gpu.info.architecture = "sm_" + std::to_string(gpu.capability);
  gpu.copy_engines = attribute(driver, gpu.handle, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 0);
  return gpu;
}

}  // namespace

Result<std::vector<Gpu>> list_gpus(const Driver& driver) {
  int count = 0;
  if (const CUresult result = driver.cuDeviceGetCount(&count); result != CUDA_SUCCESS)
    return driver.error("cuDeviceGetCount", result);
  std::vector<Gpu> gpus;
  for (int index = 0; index < count; ++index) {
    Result<Gpu> gpu = describe(driver, index);
    if (!gpu) return gpu.error();
    gpus.push_back(gpu.take());
  }
  return gpus;
}

Result<Gpu> find_gpu(const Driver& driver, const std::string& id) {
  Result<std::vector<Gpu>> gpus = list_gpus(driver);
  if (!gpus) return gpus.error();
  const std::string uuid = id.rfind("cuda:", 0) == 0 ? id.substr(5) : id;
  const Gpu* found = nullptr;
  size_t matches = 0;
  std::string known;
  for (const Gpu& gpu : gpus.value()) {
    known += (known.empty() ? "" : ", ") + gpu.info.id + " (" + gpu.info.uuid + ")";
    if (gpu.info.id == id) return gpu;
    if (uuid.rfind("GPU-", 0) != 0 || gpu.info.uuid.rfind(uuid, 0) != 0) continue;
    found = &gpu;
    ++matches;
  }
  if (matches == 1) return *found;
  const std::string what = matches == 0 ? "no GPU is " : "more than one GPU is ";
  return Error{ErrorCode::unsupported, what + id + "; there are: " + (known.empty() ? "none" : known)};
}

}  // namespace framelane::cuda
