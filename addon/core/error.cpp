#include "core/error.h"
namespace framelane {
std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
#define FRAMELANE_ERROR(c) \
  case ErrorCode::c: return #c;
#include "core/error_codes.def"
#undef FRAMELANE_ERROR
  }
  return "internal";
}
}  // namespace framelane
