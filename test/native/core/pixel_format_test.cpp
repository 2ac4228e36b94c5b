#include <gtest/gtest.h>

#include <cstddef>

#include "core/format.h"

namespace framelane {
namespace {

TEST(PixelFormat, EveryNameLeadsBackToItsFormat) {
  for (size_t i = 0; i < kPixelFormatCount; ++i) {
    const auto format = static_cast<PixelFormat>(i);
    EXPECT_EQ(pixel_format_from_name(info(format).name), format);
    EXPECT_EQ(pixel_format_of(info(format).type, info(format).samples, info(format).arrangement), format);
  }
}

TEST(PixelFormat, UnknownNamesAreRefused) {
  EXPECT_FALSE(pixel_format_from_name("mono7").has_value());
  EXPECT_FALSE(pixel_format_from_name("").has_value());
}

}  // namespace
}  // namespace framelane
