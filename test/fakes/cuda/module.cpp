#include <algorithm>
#include <cstring>

#include "fakes/cuda/detectors.h"
#include "fakes/cuda/functions.h"
#include "fakes/cuda/ptx.h"

namespace framelane::fake_cuda {
namespace {

// What cuLinkComplete makes: PTX behind this header. Begins as a real cubin does.
struct CubinHeader {
  char magic[24] =
      "\x7f"
      "ELFframelane-fake-1";
  uint64_t ptx_bytes = 0;
  int64_t sm = 0;  // it was linked for
};

void write_log(unsigned count, const CUjit_option* options, void** values, const std::string& text) {
  char* buffer = nullptr;
  size_t size = 0, size_at = 0;
  for (unsigned at = 0; at < count; ++at) {
    if (options[at] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[at]);
    if (options[at] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) continue;
    size = static_cast<size_t>(reinterpret_cast<uintptr_t>(values[at]));
    size_at = at;
  }
  if (buffer == nullptr || size == 0) return;
  const size_t length = std::min(size - 1, text.size());
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
  values[size_at] = reinterpret_cast<void*>(static_cast<uintptr_t>(length));
}

CUresult read_image(std::string_view ptx, int linked_sm, PtxModule& out) {
  const int sm = state().options.sm;
  const std::optional<PtxFault> fault = read_ptx(ptx, out);
  if (fault) return fault == PtxFault::not_ptx ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_INVALID_PTX;
  if (out.sm > sm) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (linked_sm > 0 && (linked_sm / 10 != sm / 10 || linked_sm > sm)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  return CUDA_SUCCESS;
}

CUresult load(Call& call, CUmodule* out, const void* image, unsigned count, CUjit_option* options, void** values) {
  if (!call.allowed_in_capture() || call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CubinHeader header;
  std::string_view ptx;
  if (std::strncmp(static_cast<const char*>(image), header.magic, sizeof(header.magic)) == 0) {
    std::memcpy(&header, image, sizeof(header));
    ptx = {static_cast<const char*>(image) + sizeof(header), static_cast<size_t>(header.ptx_bytes)};
  } else {
    ptx = static_cast<const char*>(image);
  }
  PtxModule read;
  if (const CUresult result = read_image(ptx, static_cast<int>(header.sm), read); result != CUDA_SUCCESS) {
    write_log(count, options, values, "the fake driver cannot read this image");
    return result;
  }
  auto module = std::make_shared<Module>();
  module->context = call.context_handle();
  module->kernels = std::move(read.kernels);
  *out = state().modules.add(std::move(module));
  return call.end(CUDA_SUCCESS);
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  Call call(Function::cuModuleLoadData);
  return load(call, out, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* options, void** values) {
  Call call(Function::cuModuleLoadDataEx);
  return load(call, out, image, count, options, values);
}

CUresult cuModuleUnload(CUmodule handle) {
  Call call(Function::cuModuleUnload);
  if (!call.context()) return call.refused();
  const std::shared_ptr<Module> module = state().modules.take(handle);
  if (!module) return call.end(CUDA_ERROR_INVALID_HANDLE);
  module->unloaded = true;
  for (const Stream* stream : state().running)
    for (const std::shared_ptr<Op>& op : stream->queue)
      for (const Work& work : op->work)
        if (work.module == module) detect(Detector::use_after_free, work.what + " is unloaded before it has run");
  std::erase_if(state().functions, [handle](const auto& entry) { return entry.first.first == handle; });
  std::erase_if(state().kernels, [&module](const auto& entry) { return entry.second.first == module; });
  return call.end(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
  Call call(Function::cuModuleGetFunction);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  const std::shared_ptr<Module> module = state().modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t index = 0; index < module->kernels.size(); ++index) {
    if (module->kernels[index].name != name) continue;
    CUfunction& function = state().functions[{handle, name}];
    if (function == nullptr) {
      function = reinterpret_cast<CUfunction>(state().next_function += 64);
      state().kernels[function] = {module, index};
    }
    *out = function;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* out) {
  Call call(Function::cuLinkCreate);
  if (call.refused() != CUDA_SUCCESS || !call.context()) return call.refused();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto link = std::make_shared<Link>();
  link->context = call.context_handle();
  *out = state().links.add(std::move(link));
  return call.end(CUDA_SUCCESS);
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t bytes, const char*,
                          unsigned count, CUjit_option* options, void** values) {
  Call call(Function::cuLinkAddData);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Link> link = state().links.find(handle);
  if (!link) return CUDA_ERROR_INVALID_HANDLE;
  if (data == nullptr || bytes == 0 || type != CU_JIT_INPUT_PTX) return CUDA_ERROR_INVALID_VALUE;
  std::string ptx(static_cast<const char*>(data), bytes);
  while (!ptx.empty() && ptx.back() == '\0') ptx.pop_back();
  PtxModule read;
  CUresult result = read_image(ptx, 0, read);
  if (result == CUDA_ERROR_INVALID_IMAGE) result = CUDA_ERROR_INVALID_PTX;
  if (result != CUDA_SUCCESS) {
    write_log(count, options, values, "the fake driver cannot read this PTX");
    return result;
  }
  link->ptx.push_back(std::move(ptx));
  return call.end(CUDA_SUCCESS);
}

CUresult cuLinkComplete(CUlinkState handle, void** out, size_t* bytes) {
  Call call(Function::cuLinkComplete);
  if (call.refused() != CUDA_SUCCESS) return call.refused();
  const std::shared_ptr<Link> link = state().links.find(handle);
  if (!link) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || link->ptx.empty()) return CUDA_ERROR_INVALID_VALUE;
  std::string all;
  for (const std::string& ptx : link->ptx) all += ptx + "\n";
  CubinHeader header;
  header.ptx_bytes = all.size();
  header.sm = state().options.sm;
  link->cubin.resize(sizeof(header) + all.size());
  std::memcpy(link->cubin.data(), &header, sizeof(header));
  std::memcpy(link->cubin.data() + sizeof(header), all.data(), all.size());
  *out = link->cubin.data();
  if (bytes != nullptr) *bytes = link->cubin.size();
  return call.end(CUDA_SUCCESS);
}

CUresult cuLinkDestroy(CUlinkState handle) {
  Call call(Function::cuLinkDestroy);
  return call.end(state().links.take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace framelane::fake_cuda
