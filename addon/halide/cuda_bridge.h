// Halide's own CUDA runtime on our driver table. Compiled pipelines do not enter it (launch_runtime.h); whatever else
// of Halide calls the driver is counted as all calls are, and finds no context to work in.
#pragma once

#include "core/error.h"
#include "cuda/driver.h"

namespace Halide {
struct JITHandlers;
}

namespace framelane::halide {

// Once in a process, before the first CUDA pipeline is compiled; again with the same driver: nothing happens. With
// another one: an error, for Halide's runtime keeps the functions that it was given. Pipelines on the CPU are not
// touched by it.
// Any thread.
[[nodiscard]] Status install_cuda_bridge(const cuda::Driver& driver);

// Only where Halide's runtime gets the driver's functions from: for who brings a context and streams of his own and
// sets the handlers himself. One driver in a process, as above.
[[nodiscard]] Status hand_driver_to(Halide::JITHandlers& handlers, const cuda::Driver& driver);

}  // namespace framelane::halide
