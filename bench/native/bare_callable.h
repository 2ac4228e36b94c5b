// The same pipeline without Framelane around it: Halide's Callable in a loop.
#pragma once

#include <cstdint>
#include <memory>

#include "core/error.h"
#include "native/workloads.h"

namespace framelane::bench {

// With Halide's own allocator and thread pool, and as many input buffers as a channel's ring has.
// Thread-safety: one thread at a time.
class BareCallable {
 public:
  [[nodiscard]] static Result<std::unique_ptr<BareCallable>> compile(const Workload& workload, uint32_t threads,
                                                                     uint32_t buffers);
  ~BareCallable();
  BareCallable(const BareCallable&) = delete;
  BareCallable& operator=(const BareCallable&) = delete;

  // Frames per second of one loop that lasts about so long.
  [[nodiscard]] Result<double> run(int64_t duration_ns);

 private:
  class State;
  explicit BareCallable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace framelane::bench
