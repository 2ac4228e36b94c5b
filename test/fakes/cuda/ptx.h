// What the fake needs to know of PTX: the kernels, the sizes of their parameters, and through which they store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/cuda/state.h"

namespace framelane::fake_cuda {

// Why a text is not taken.
enum class PtxFault : uint8_t { not_ptx, broken };

struct PtxModule {
  int sm = 0;  // the least compute capability that it asks for
  std::vector<KernelImage> kernels;
};

[[nodiscard]] std::optional<PtxFault> read_ptx(std::string_view text, PtxModule& out);

}  // namespace framelane::fake_cuda
