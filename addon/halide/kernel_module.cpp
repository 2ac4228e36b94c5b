#include "halide/kernel_module.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "cuda/link.h"

namespace framelane::halide {
namespace {

using cuda::CUresult;

Error failed(const cuda::Driver& driver, const char* call, CUresult result) {
  Error error = driver.error(call, result);
  error.message = "cannot load the kernels: " + error.message;
  return error;
}

bool in_name(char letter) noexcept {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '$';
}

// Halide numbers the names of a process: the same pipeline, compiled later, has kernels of other names. In their place
// come "kernel_0", "kernel_1", ... in the order of the text, and comments go, so that the same pipeline is the same
// text.
struct Source {
  std::string ptx;
  std::vector<std::string> names;  // as Halide calls them
};

std::vector<std::string> names_of(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry ";
  std::vector<std::string> names;
  for (size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at)) {
    at += kEntry.size();
    size_t end = at;
    while (end < ptx.size() && in_name(ptx[end])) ++end;
    names.emplace_back(ptx.substr(at, end - at));
  }
  return names;
}

std::string plain_name(size_t index) {
  return "kernel_" + std::to_string(index);
}

// A kernel's name, or one that is derived from it: its parameters.
std::string plain(std::string_view name, const std::vector<std::string>& kernels) {
  constexpr std::string_view kParameter = "_param_";
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (name.substr(0, kernels[i].size()) != kernels[i]) continue;
    const std::string_view rest = name.substr(kernels[i].size());
    if (rest.empty() || rest.substr(0, kParameter.size()) == kParameter) return plain_name(i) + std::string(rest);
  }
  return std::string(name);
}

Source plain_source(std::string_view ptx) {
  Source source{{}, names_of(ptx)};
  source.ptx.reserve(ptx.size());
  for (size_t at = 0; at < ptx.size();) {
    size_t end = at;
    while (end < ptx.size() && in_name(ptx[end])) ++end;
    source.ptx += plain(ptx.substr(at, end - at), source.names);
    while (end < ptx.size() && !in_name(ptx[end])) {
      if (ptx.substr(end, 2) == "//") end = std::min(ptx.find('\n', end), ptx.size() - 1);
      source.ptx += ptx[end++];
    }
    at = end;
  }
  return source;
}

Result<cuda::CUmodule> load_cubin(const cuda::Driver& driver, const std::string& cubin) {
  cuda::CUmodule module = nullptr;
  const CUresult result = driver.cuModuleLoadData(&module, cubin.data());
  if (result != cuda::CUDA_SUCCESS) return failed(driver, "cuModuleLoadData", result);
  return module;
}

// What the cache kept and the driver does not take (a checksum says nothing of that) is made anew.
Result<cuda::CUmodule> load_ptx(const KernelTarget& target, const std::string& ptx) {
  const std::string key = cuda::CubinCache::key(ptx, target.architecture, target.driver.version());
  if (const std::optional<std::string> kept = target.cache.find(key)) {
    Result<cuda::CUmodule> module = load_cubin(target.driver, *kept);
    if (module || module.error().code == ErrorCode::device_lost) return module;
  }
  Result<std::string> cubin = cuda::link_ptx(target.driver, ptx);
  if (!cubin) return cubin.error();
  Result<cuda::CUmodule> module = load_cubin(target.driver, cubin.value());
  if (module) target.cache.keep(key, cubin.value());
  return module;
}

}  // namespace

Result<std::unique_ptr<const KernelModule>> KernelModule::load(const KernelTarget& target, const std::string& ptx) {
  const Source source = plain_source(ptx);
  Result<cuda::CUmodule> module = load_ptx(target, source.ptx);
  if (!module) return module.error();
  std::unique_ptr<KernelModule> made(new KernelModule(target, module.value()));
  for (size_t i = 0; i < source.names.size(); ++i)
    if (Status status = made->add_kernel(source.names[i], plain_name(i)); !status) return status.error();
  return std::unique_ptr<const KernelModule>(std::move(made));
}

Status KernelModule::add_kernel(const std::string& name, const std::string& in_module) {
  cuda::CUfunction function = nullptr;
  const CUresult result = driver_.cuModuleGetFunction(&function, module_, in_module.c_str());
  if (result != cuda::CUDA_SUCCESS) return failed(driver_, "cuModuleGetFunction", result);
  kernels_.push_back({name, function});
  return {};
}

KernelModule::~KernelModule() {
  cuda::CUcontext former = nullptr;
  if (driver_.cuCtxPushCurrent(context_) != cuda::CUDA_SUCCESS) return;  // the device is lost: all is gone with it
  driver_.cuModuleUnload(module_);
  driver_.cuCtxPopCurrent(&former);
}

cuda::CUfunction KernelModule::find(std::string_view name, size_t& at) const noexcept {
  for (size_t i = 0; i < kernels_.size(); ++i, ++at) {
    const Kernel& kernel = kernels_[at % kernels_.size()];
    if (kernel.name != name) continue;
    ++at;
    return kernel.function;
  }
  return nullptr;
}

}  // namespace framelane::halide
