// The machine's own GPU, for tests that need kernels to run.
#pragma once

#include <memory>
#include <string>

#include "core/device.h"
#include "cuda/driver.h"
#include "native/halide/frames.h"

namespace framelane::gpu {

// libcuda.so.1, or what FRAMELANE_CUDA_LIBRARY names.
[[nodiscard]] std::string driver_library();

// Why there is none; empty: there is one. The fake driver is none, for it runs no kernels.
[[nodiscard]] std::string missing();

// The first GPU, or what FRAMELANE_TEST_DEVICE names ("cuda:1"); open until close_device(). Only where one is.
[[nodiscard]] Device& device();
void close_device() noexcept;
[[nodiscard]] const cuda::Driver& driver();

// The CPU, which the GPU's results are compared with.
[[nodiscard]] Device& cpu();

// How long the kernels of each operation take, as a table on the standard output. 0: done.
[[nodiscard]] int print_timings();

// Noise; of float32 from 0 to 1. Thread-safety: any thread.
[[nodiscard]] test::HeldFrame noise(const FrameFormat& format, uint32_t seed);

}  // namespace framelane::gpu
