#include "cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>

namespace framelane::cuda {

Status Driver::load(void* library, const std::string& name) {
  std::string missing;
  const auto find = [&](const char* symbol) -> void* {
    void* const found = dlsym(library, symbol);
    if (found == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
    return found;
  };
#define FRAMELANE_DRIVER(kind, member, symbol, parameters)                       \
  member.function_ = reinterpret_cast<decltype(member)::Pointer>(find(#symbol)); \
  member.gate_ = &gate_;
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
  annotate_ = reinterpret_cast<decltype(annotate_)>(dlsym(library, "framelane_fake_annotate"));
  if (!missing.empty())
    return Error{ErrorCode::unsupported, name + " is too old: it lacks " + missing + "; driver 525 or newer is needed"};
  return {};
}

Result<const Driver*> Driver::open(const std::string& library) {
  static std::mutex opening;
  static std::map<std::string, const Driver*>& open_ones = *new std::map<std::string, const Driver*>;
  const std::lock_guard lock(opening);
  const Driver*& present = open_ones[library];
  if (present != nullptr) return present;
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Error{ErrorCode::unsupported, std::string("no NVIDIA driver here: ") + dlerror()};
  std::unique_ptr<Driver> driver(new Driver);
  if (Status status = driver->load(handle, library); !status) return status.error();
  // Kernels that are loaded at their first launch would stop everybody's. Who has set it otherwise meant it.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  if (const CUresult result = driver->cuInit(0); result != CUDA_SUCCESS) return driver->error("cuInit", result);
  if (const CUresult result = driver->cuDriverGetVersion(&driver->version_); result != CUDA_SUCCESS)
    return driver->error("cuDriverGetVersion", result);
  return present = driver.release();
}

Error Driver::error(std::string_view call, CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  std::string message(call);
  if (cuGetErrorName(result, &name) == CUDA_SUCCESS && name != nullptr)
    message += std::string(": ") + name;
  else
    message += ": error " + std::to_string(static_cast<int>(result));
  if (cuGetErrorString(result, &text) == CUDA_SUCCESS && text != nullptr) message += std::string(" (") + text + ")";
  if (is_fatal(result)) return {ErrorCode::device_lost, message};
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return {ErrorCode::out_of_memory, message};
  return {ErrorCode::device_failed, message};
}

size_t Driver::counts(std::span<Count> out) const noexcept {
  size_t at = 0;
#define FRAMELANE_DRIVER(kind, name, symbol, parameters) \
  if (at < out.size()) out[at++] = {#name, CallKind::kind, name.calls()};
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
  return at;
}

uint64_t Driver::calls(CallKind wanted) const noexcept {
  uint64_t sum = 0;
#define FRAMELANE_DRIVER(kind, name, symbol, parameters) \
  if (CallKind::kind == wanted) sum += name.calls();
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
  return sum;
}

void* Driver::address(std::string_view wanted) const noexcept {
#define FRAMELANE_DRIVER(kind, name, symbol, parameters) \
  if (wanted == #symbol) return reinterpret_cast<void*>(name.function_);
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
  return nullptr;
}

bool is_fatal(CUresult result) noexcept {
  switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
  }
}

}  // namespace framelane::cuda
