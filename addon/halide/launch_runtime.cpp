#include "halide/launch_runtime.h"

#include <HalideRuntimeCuda.h>

#include <array>
#include <type_traits>

#include "cuda/stream_cache.h"

namespace framelane::halide {
namespace {

// More would not fit into the 4 KiB that a kernel's arguments may take.
constexpr size_t kMostArguments = 1024;

Error out_of_place(const char* what) {
  return {ErrorCode::internal, std::string("the compiled code wants to ") + what + " on a frame's way"};
}

}  // namespace

// Called by compiled code alone. Each returns 0 or the code of an error that the context then knows.
struct LaunchFunctions {
  static LaunchContext& of(void* context) noexcept {
    return *static_cast<LaunchContext*>(static_cast<Halide::JITUserContext*>(context));
  }

  static int initialize_kernels(void* context, void** state, const char* source, int size) noexcept {
    LaunchContext& self = of(context);
    *state = nullptr;  // which module it is, the context knows
    if (self.ptx_ == nullptr) return 0;
    try {
      self.ptx_->assign(source, strnlen(source, size_t(size)));
    } catch (const std::exception&) {
      return self.fail({ErrorCode::out_of_memory, "no memory for the PTX"});
    }
    return halide_error_code_generic_error;
  }

  static void finalize_kernels(void*, void*) noexcept {}

  static int run(void* context, void*, const char* entry, int blocks_x, int blocks_y, int blocks_z, int threads_x,
                 int threads_y, int threads_z, int shared_bytes, size_t sizes[], void* arguments[],
                 int8_t is_buffer[]) noexcept {
    LaunchContext& self = of(context);
    const cuda::CUfunction function = self.kernels_->find(entry, self.next_kernel_);
    if (function == nullptr) return self.fail({ErrorCode::internal, std::string("there is no kernel ") + entry});
    std::array<void*, kMostArguments> given;
    std::array<uint64_t, kMostArguments> addresses;
    for (size_t i = 0; sizes[i] != 0; ++i) {
      if (i == kMostArguments) return self.fail({ErrorCode::internal, "a kernel has too many arguments"});
      given[i] = arguments[i];
      if (is_buffer[i] == 0) continue;
      addresses[i] = static_cast<const halide_buffer_t*>(arguments[i])->device;
      given[i] = &addresses[i];
    }
    const cuda::Driver& driver = self.kernels_->driver();
    const cuda::CUresult result = driver.cuLaunchKernel(
        function, unsigned(blocks_x), unsigned(blocks_y), unsigned(blocks_z), unsigned(threads_x), unsigned(threads_y),
        unsigned(threads_z), unsigned(shared_bytes), self.place_->stream, given.data(), nullptr);
    return result == cuda::CUDA_SUCCESS ? 0 : self.fail(driver.error("cuLaunchKernel", result));
  }

  // Compiled code asks before each use; only the first time there is something to do.
  static int device_malloc(void* context, halide_buffer_t* buffer, const halide_device_interface_t* marker) noexcept {
    if (buffer->device != 0) return 0;
    LaunchContext& self = of(context);
    Result<cuda::CUdeviceptr> block = self.place_->memory->allocate(buffer->size_in_bytes());
    if (!block) return self.fail(block.error());
    self.stored_bytes_ += buffer->size_in_bytes();
    buffer->device = block.value();
    buffer->device_interface = marker;
    return 0;
  }

  static int device_free(void* context, halide_buffer_t* buffer) noexcept {
    if (buffer->device == 0) return 0;
    LaunchContext& self = of(context);
    const Status status = self.place_->memory->release(buffer->device);
    buffer->device = 0;
    buffer->device_interface = nullptr;
    return status ? 0 : self.fail(status.error());
  }

  // When the code returns early.
  static void device_free_at_end(void* context, void* buffer) noexcept {
    (void)device_free(context, static_cast<halide_buffer_t*>(buffer));
  }

  static int copy_to_device(void* context, halide_buffer_t* buffer, const halide_device_interface_t*) noexcept {
    if (!buffer->host_dirty() && buffer->device != 0) return 0;
    return of(context).fail(out_of_place("copy to the device"));
  }

  static int copy_to_host(void* context, halide_buffer_t* buffer) noexcept {
    if (!buffer->device_dirty()) return 0;
    return of(context).fail(out_of_place("copy from the device"));
  }

  static int both_malloc(void* context, halide_buffer_t*, const halide_device_interface_t*) noexcept {
    return of(context).fail(out_of_place("share memory with the device"));
  }

  static int both_free(void* context, halide_buffer_t*) noexcept {
    return of(context).fail(out_of_place("share memory with the device"));
  }
};

namespace {

// For what Halide's headers do not declare.
template <typename Ours>
Halide::JITExtern taken(Ours* ours) {
  return Halide::JITExtern(Halide::ExternCFunction(reinterpret_cast<void*>(ours), Halide::ExternSignature()));
}

template <typename Theirs, typename Ours>
Halide::JITExtern taken_as(Ours* ours) {
  // Theirs are not noexcept, which is part of the type.
  static_assert(std::is_convertible_v<Ours*, Theirs*>, "Halide's headers declare it differently");
  return taken(ours);
}

}  // namespace

std::map<std::string, Halide::JITExtern> launch_functions() {
  using Functions = LaunchFunctions;
#define FRAMELANE_TAKES(name, ours) {#name, taken_as<decltype(name)>(&ours)}
  return {FRAMELANE_TAKES(halide_cuda_initialize_kernels, Functions::initialize_kernels),
          FRAMELANE_TAKES(halide_cuda_finalize_kernels, Functions::finalize_kernels),
          FRAMELANE_TAKES(halide_cuda_run, Functions::run),
          FRAMELANE_TAKES(halide_cuda_device_interface, launch_interface),
          FRAMELANE_TAKES(halide_device_malloc, Functions::device_malloc),
          FRAMELANE_TAKES(halide_device_free, Functions::device_free),
          FRAMELANE_TAKES(halide_copy_to_device, Functions::copy_to_device),
          FRAMELANE_TAKES(halide_copy_to_host, Functions::copy_to_host),
          {"halide_device_free_as_destructor", taken(&Functions::device_free_at_end)},
          {"halide_device_and_host_malloc", taken(&Functions::both_malloc)},
          {"halide_device_and_host_free", taken(&Functions::both_free)}};
#undef FRAMELANE_TAKES
}

// Nothing calls through it: compiled code calls the functions above by their names.
const halide_device_interface_t* launch_interface() noexcept {
  static const halide_device_interface_t marker{};
  return &marker;
}

void LaunchContext::launch_at(const cuda::LaunchPlace& place, const KernelModule& kernels) noexcept {
  forget_error();
  place_ = &place;
  kernels_ = &kernels;
  ptx_ = nullptr;
  next_kernel_ = 0;
  stored_bytes_ = 0;
  failure_.reset();
}

void LaunchContext::show_ptx_in(std::string& ptx) noexcept {
  forget_error();
  ptx_ = &ptx;
  failure_.reset();
}

int LaunchContext::fail(Error error) noexcept {
  if (!failure_) failure_ = std::move(error);
  return halide_error_code_gpu_device_error;
}

Status LaunchContext::outcome(int result) const {
  if (failure_) return *failure_;
  if (result != 0) return Error{ErrorCode::pipeline_failed, error()};
  return {};
}

}  // namespace framelane::halide
