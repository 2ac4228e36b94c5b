// A CUDA driver that does nothing, so that what is measured is what stands above it. The few functions that something
// depends on are in results.cpp.
#include "cuda/driver_types.h"

using namespace framelane::cuda;

extern "C" {
#define FRAMELANE_DRIVER(kind, name, symbol, parameters)                   \
  __attribute__((visibility("default"), weak)) CUresult symbol parameters; \
  CUresult symbol parameters {                                             \
    return CUDA_SUCCESS;                                                   \
  }
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
}
