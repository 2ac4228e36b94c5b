#include <array>
#include <string_view>
#include <utility>

#include "halide/operations/operation.h"

namespace framelane::halide {

MakeOperation find_operation(const std::string& name) noexcept {
  static constexpr std::array<std::pair<std::string_view, MakeOperation>, 7> kOperations{{
      {"convert", make_convert},
      {"crop", make_crop},
      {"gain", make_gain},
      {"gamma", make_gamma},
      {"local_contrast", make_local_contrast},
      {"resize", make_resize},
      {"unsharp", make_unsharp},
  }};
  for (const auto& [known, make] : kOperations) {
    if (known == name) return make;
  }
  return nullptr;
}

}  // namespace framelane::halide
