#include "cuda/link.h"

#include <array>
#include <memory>

namespace framelane::cuda {
namespace {

constexpr size_t kLogBytes = 4096;

std::string log_line(const std::array<char, kLogBytes>& log) {
  std::string text(log.data());
  for (char& character : text)
    if (character == '\n') character = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Whether it is the PTX that is to blame: the same will happen to it again.
bool refuses_input(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return true;
    default: return false;
  }
}

}  // namespace

Result<std::string> link_ptx(const Driver& driver, const std::string& ptx) {
  const auto log = std::make_unique<std::array<char, kLogBytes>>();
  log->fill('\0');
  std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values = {log->data(), reinterpret_cast<void*>(kLogBytes - 1)};
  const auto failed = [&](const char* call, CUresult result) -> Error {
    Error error = driver.error(call, result);
    if (refuses_input(result)) error.code = ErrorCode::compile_failed;
    if (const std::string words = log_line(*log); !words.empty()) error.message += ": " + words;
    return error;
  };

  CUlinkState state = nullptr;
  CUresult result = driver.cuLinkCreate(unsigned(options.size()), options.data(), values.data(), &state);
  if (result != CUDA_SUCCESS) return failed("cuLinkCreate", result);
  Result<std::string> made = [&]() -> Result<std::string> {
    // The driver does not write to its input, for all its signature says; the zero at the end belongs to it.
    void* const data = const_cast<char*>(ptx.c_str());
    result = driver.cuLinkAddData(state, CU_JIT_INPUT_PTX, data, ptx.size() + 1, "pipeline", 0, nullptr, nullptr);
    if (result != CUDA_SUCCESS) return failed("cuLinkAddData", result);
    void* cubin = nullptr;
    size_t bytes = 0;
    result = driver.cuLinkComplete(state, &cubin, &bytes);
    if (result != CUDA_SUCCESS) return failed("cuLinkComplete", result);
    return std::string(static_cast<const char*>(cubin), bytes);  // the linker's own memory goes with the state
  }();
  driver.cuLinkDestroy(state);
  return made;
}

}  // namespace framelane::cuda
