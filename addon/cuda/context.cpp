#include "cuda/context.h"

namespace framelane::cuda {
namespace {

// The context that this thread last made current through us. Nothing else in the process changes it for longer than a
// call: Halide's pushes and pops come in pairs.
thread_local CUcontext current = nullptr;

}  // namespace

Result<std::unique_ptr<Context>> Context::open(const Driver& driver, const Gpu& gpu) {
  constexpr unsigned kFlags = CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_LMEM_RESIZE_TO_MAX;
  if (const CUresult result = driver.cuDevicePrimaryCtxSetFlags(gpu.handle, kFlags); result != CUDA_SUCCESS)
    return driver.error("cuDevicePrimaryCtxSetFlags", result);
  CUcontext handle = nullptr;
  if (const CUresult result = driver.cuDevicePrimaryCtxRetain(&handle, gpu.handle); result != CUDA_SUCCESS)
    return driver.error("cuDevicePrimaryCtxRetain", result);
  return std::unique_ptr<Context>(new Context(driver, gpu, handle));
}

Context::~Context() {
  if (current == handle_) {
    driver_.cuCtxSetCurrent(nullptr);
    current = nullptr;
  }
  driver_.cuDevicePrimaryCtxRelease(gpu_.handle);
}

Status Context::make_current() const noexcept {
  if (current == handle_) return {};
  if (const CUresult result = driver_.cuCtxSetCurrent(handle_); result != CUDA_SUCCESS)
    return driver_.error("cuCtxSetCurrent", result);
  current = handle_;
  return {};
}

Result<Stream> make_stream(const Driver& driver) {
  CUstream handle = nullptr;
  if (const CUresult result = driver.cuStreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, 0);
      result != CUDA_SUCCESS)
    return driver.error("cuStreamCreate", result);
  return Stream(driver, handle);
}

Result<Event> make_event(const Driver& driver, bool timed) {
  CUevent handle = nullptr;
  const unsigned flags = timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  if (const CUresult result = driver.cuEventCreate(&handle, flags); result != CUDA_SUCCESS)
    return driver.error("cuEventCreate", result);
  return Event(driver, handle);
}

}  // namespace framelane::cuda
