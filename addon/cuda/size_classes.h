// Sizes of device memory blocks: eight classes to each power of two, so that a block wastes less than an eighth.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace framelane::cuda {

// Every block begins and ends at a multiple of it; Halide's kernels want aligned pointers.
inline constexpr size_t kBlockAlignment = 256;
inline constexpr uint32_t kStepsPerDoubling = 8;
inline constexpr size_t kLargestBlock = size_t{1} << 40;
// The first eight classes are 256, 512, ... 2048 bytes: what is smaller than 2 KiB is only aligned.
inline constexpr uint32_t kSizeClasses =
    kStepsPerDoubling * (1 + std::bit_width(kLargestBlock) - std::bit_width(kBlockAlignment * kStepsPerDoubling));

// The smallest class that holds so many bytes; kSizeClasses and more: larger than any block.
[[nodiscard]] constexpr uint32_t size_class_of(size_t bytes) noexcept {
  const size_t last = bytes == 0 ? 0 : bytes - 1;
  if (last < kBlockAlignment * kStepsPerDoubling) return static_cast<uint32_t>(last / kBlockAlignment);
  const auto octave = static_cast<uint32_t>(std::bit_width(last)) - 1;  // 2^octave <= last
  const auto step = static_cast<uint32_t>((last >> (octave - 3)) & (kStepsPerDoubling - 1));
  return (octave - 10) * kStepsPerDoubling + step;
}

[[nodiscard]] constexpr size_t class_bytes(uint32_t size_class) noexcept {
  if (size_class < kStepsPerDoubling) return (size_class + 1) * kBlockAlignment;
  const uint32_t octave = size_class / kStepsPerDoubling + 10;
  return size_t{kStepsPerDoubling + size_class % kStepsPerDoubling + 1} << (octave - 3);
}

static_assert(class_bytes(size_class_of(2049)) == 2304 && size_class_of(2048) == 7 && size_class_of(2049) == 8);
static_assert(size_class_of(kLargestBlock) == kSizeClasses - 1 && class_bytes(kSizeClasses - 1) == kLargestBlock);

}  // namespace framelane::cuda
