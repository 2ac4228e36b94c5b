#include "native/stock/gpu.h"

#include <sys/mman.h>

#include "halide/cuda_bridge.h"

namespace framelane::bench {
namespace {

using cuda::CUresult;

cuda::CUcontext open_context = nullptr;  // set before Halide's runtime asks first

int acquire_context(Halide::JITUserContext*, void** context, bool) {
  *context = open_context;
  return halide_error_code_success;
}

int release_context(Halide::JITUserContext*) {
  return halide_error_code_success;
}

// Buffers that are destroyed come without a call.
int get_stream(Halide::JITUserContext* call, void*, void** stream) {
  *stream = call == nullptr ? nullptr : static_cast<StockCall*>(call)->stream;
  return halide_error_code_success;
}

constexpr size_t kPage = 4096;

}  // namespace

Result<std::unique_ptr<StockGpu>> StockGpu::open(const std::string& library, const std::string& id) {
  Result<const cuda::Driver*> driver = cuda::Driver::open(library);
  if (!driver) return driver.error();
  Result<cuda::Gpu> gpu = cuda::find_gpu(*driver.value(), id);
  if (!gpu) return gpu.error();
  driver.value()->gate().keep_open();
  Halide::JITHandlers handlers;
  if (Status status = halide::hand_driver_to(handlers, *driver.value()); !status) return status.error();
  if (const CUresult result = driver.value()->cuDevicePrimaryCtxRetain(&open_context, gpu.value().handle);
      result != cuda::CUDA_SUCCESS)
    return driver.value()->error("cuDevicePrimaryCtxRetain", result);
  handlers.custom_cuda_acquire_context = acquire_context;
  handlers.custom_cuda_release_context = release_context;
  handlers.custom_cuda_get_stream = get_stream;
  Halide::Internal::JITSharedRuntime::set_default_handlers(handlers);
  std::unique_ptr<StockGpu> opened(new StockGpu(*driver.value(), gpu.take()));
  if (Status status = opened->make_current(); !status) return status.error();
  return opened;
}

StockGpu::~StockGpu() {
  if (!make_current()) return;
  Halide::Internal::JITSharedRuntime::release_all();
  driver_.cuDevicePrimaryCtxRelease(gpu_.handle);
}

Status StockGpu::make_current() const noexcept {
  if (const CUresult result = driver_.cuCtxSetCurrent(open_context); result != cuda::CUDA_SUCCESS)
    return driver_.error("cuCtxSetCurrent", result);
  return {};
}

Result<std::unique_ptr<RegisteredMemory>> RegisteredMemory::create(const cuda::Driver& driver, size_t size_bytes) {
  const size_t whole = (size_bytes + kPage - 1) / kPage * kPage;
  void* const mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (mapped == MAP_FAILED) return Error{ErrorCode::out_of_memory, "no memory for " + std::to_string(whole) + " bytes"};
  if (const CUresult result = driver.cuMemHostRegister(mapped, whole, cuda::CU_MEMHOSTREGISTER_PORTABLE);
      result != cuda::CUDA_SUCCESS) {
    munmap(mapped, whole);
    return driver.error("cuMemHostRegister", result);
  }
  return std::unique_ptr<RegisteredMemory>(new RegisteredMemory(driver, static_cast<std::byte*>(mapped), whole));
}

RegisteredMemory::~RegisteredMemory() {
  driver_.cuMemHostUnregister(data_);
  munmap(data_, size_bytes_);
}

}  // namespace framelane::bench
