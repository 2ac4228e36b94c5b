#include "halide/cuda_bridge.h"

#include <Halide.h>
#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <string_view>

namespace framelane::halide {
namespace {

using namespace cuda;  // NOLINT: the driver's names, as Halide uses them

std::atomic<const Driver*> bridged{nullptr};

// A function of the table for who calls by pointer.
template <auto member>
struct Counted;
template <CallKind kind, typename... Parameters, DriverFunction<kind, CUresult(Parameters...)> Driver::* member>
struct Counted<member> {
  static CUresult call(Parameters... parameters) noexcept {
    return (bridged.load(std::memory_order_acquire)->*member)(parameters...);
  }
};

void* find_symbol(std::string_view name) noexcept {
#define FRAMELANE_DRIVER(kind, member, symbol, parameters) \
  if (name == #symbol) return reinterpret_cast<void*>(&Counted<&Driver::member>::call);
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
  return nullptr;
}

// Stands for libcuda, which is open already.
char driver_library = 0;

void* load_library(const char* name) {
  if (std::string_view(name).find("libcuda") != std::string_view::npos) return &driver_library;
  return dlopen(name, RTLD_LAZY);
}

void* get_symbol(void* library, const char* name) {
  if (void* const found = find_symbol(name)) return found;
  if (library == &driver_library) return nullptr;
  return dlsym(library == nullptr ? RTLD_DEFAULT : library, name);
}

// At the end of the process Halide asks (`create` false) whether there is something to clean up: no.
int acquire_context(Halide::JITUserContext*, void** context, bool create) {
  *context = nullptr;
  return create ? halide_error_code_gpu_device_error : halide_error_code_success;
}

int release_context(Halide::JITUserContext*) {
  return halide_error_code_success;
}

int get_stream(Halide::JITUserContext*, void*, void**) {
  return halide_error_code_gpu_device_error;
}

}  // namespace

Status hand_driver_to(Halide::JITHandlers& handlers, const Driver& wanted) {
  const Driver* present = nullptr;
  if (!bridged.compare_exchange_strong(present, &wanted, std::memory_order_acq_rel) && present != &wanted)
    return Error{ErrorCode::unsupported, "this process uses another CUDA library already"};
  handlers.custom_load_library = load_library;
  handlers.custom_get_library_symbol = get_symbol;
  return {};
}

Status install_cuda_bridge(const Driver& wanted) {
  static std::mutex installing;
  const std::lock_guard lock(installing);
  if (bridged.load(std::memory_order_acquire) == &wanted) return {};
  Halide::JITHandlers handlers;
  if (Status status = hand_driver_to(handlers, wanted); !status) return status;
  handlers.custom_cuda_acquire_context = acquire_context;
  handlers.custom_cuda_release_context = release_context;
  handlers.custom_cuda_get_stream = get_stream;
  Halide::Internal::JITSharedRuntime::set_default_handlers(handlers);
  return {};
}

}  // namespace framelane::halide
