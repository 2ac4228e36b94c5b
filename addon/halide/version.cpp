#include <Halide.h>

#include "halide/cpu_device.h"

#define FRAMELANE_TEXT(x) #x
#define FRAMELANE_VERSION(a, b, c) FRAMELANE_TEXT(a) "." FRAMELANE_TEXT(b) "." FRAMELANE_TEXT(c)

namespace framelane::halide {

const char* version() noexcept {
  return FRAMELANE_VERSION(HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR, HALIDE_VERSION_PATCH);
}

}  // namespace framelane::halide
