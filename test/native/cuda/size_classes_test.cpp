#include "cuda/size_classes.h"

#include <gtest/gtest.h>

#include <random>

namespace framelane::cuda {
namespace {

void check(size_t bytes) {
  const uint32_t size_class = size_class_of(bytes);
  ASSERT_LT(size_class, kSizeClasses) << bytes;
  const size_t block = class_bytes(size_class);
  EXPECT_GE(block, bytes);
  EXPECT_EQ(block % kBlockAlignment, 0U);
  EXPECT_TRUE(size_class == 0 || class_bytes(size_class - 1) < bytes) << "the class before would do";
  EXPECT_TRUE(bytes < 2048 || (block - bytes) * 8 < bytes) << bytes;
}

TEST(SizeClasses, WasteLessThanAnEighth) {
  for (size_t bytes = 1; bytes < 20'000; ++bytes) check(bytes);
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const size_t bytes = (random() >> (24 + i % 30)) + 1;
    check(bytes);
    check(class_bytes(size_class_of(bytes)));
  }
}

TEST(SizeClasses, EndAtTheLargestBlock) {
  EXPECT_EQ(size_class_of(0), 0U);
  EXPECT_EQ(size_class_of(kLargestBlock), kSizeClasses - 1);
  EXPECT_GE(size_class_of(kLargestBlock + 1), kSizeClasses);
  EXPECT_GE(size_class_of(SIZE_MAX), kSizeClasses);
}

}  // namespace
}  // namespace framelane::cuda
