#include <array>
#include <string_view>
#include <utility>

#include "halide/operations/names.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

constexpr std::array<std::pair<std::string_view, MakeOperation>, 15> kOperations{{
    {"black_level", make_black_level},
    {"color_matrix", make_color_matrix},
    {"convert", make_convert},
    {"crop", make_crop},
    {"flip", make_flip},
    {"gain", make_gain},
    {"gamma", make_gamma},
    {"gaussian", make_gaussian},
    {"local_contrast", make_local_contrast},
    {"median", make_median},
    {"resize", make_resize},
    {"rotate", make_rotate},
    {"threshold", make_threshold},
    {"unsharp", make_unsharp},
    {"white_balance", make_white_balance},
}};

}  // namespace

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kOperations) names.emplace_back(name);
  return names;
}

MakeOperation find_operation(const std::string& name) noexcept {
  for (const auto& [known, make] : kOperations) {
    if (known == name) return make;
  }
  return nullptr;
}

}  // namespace framelane::halide
