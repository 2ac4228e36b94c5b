// One GPU's context, and what lives in it: streams, events, graphs. Each is owned by whoever holds the object.
#pragma once

#include <memory>
#include <utility>

#include "core/error.h"
#include "cuda/driver.h"
#include "cuda/gpu.h"

namespace framelane::cuda {

// The primary context, retained: blocking waits, no resize of local memory that would wait for the device.
// Thread-safety: any thread.
class Context {
 public:
  // Takes some 100 ms where the device had none.
  [[nodiscard]] static Result<std::unique_ptr<Context>> open(const Driver& driver, const Gpu& gpu);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // For the calling thread; costs a comparison when it is so already.
  [[nodiscard]] Status make_current() const noexcept;

  [[nodiscard]] const Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] const Gpu& gpu() const noexcept { return gpu_; }
  [[nodiscard]] CUcontext handle() const noexcept { return handle_; }

 private:
  Context(const Driver& driver, Gpu gpu, CUcontext handle) noexcept
      : driver_(driver), gpu_(std::move(gpu)), handle_(handle) {}

  const Driver& driver_;
  const Gpu gpu_;
  const CUcontext handle_;
};

// Thread-safety: a value with one owner; the context is current where it is made and destroyed. Destroying waits for
// nothing.
template <typename Handle, auto destroy>
class Owned {
 public:
  Owned() = default;
  Owned(const Driver& driver, Handle handle) noexcept : driver_(&driver), handle_(handle) {}
  Owned(Owned&& other) noexcept : driver_(other.driver_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    reset();
    driver_ = other.driver_;
    handle_ = std::exchange(other.handle_, nullptr);
    return *this;
  }
  ~Owned() { reset(); }

  void reset() noexcept {
    if (handle_ != nullptr) (driver_->*destroy)(handle_);
    handle_ = nullptr;
  }
  [[nodiscard]] Handle get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  const Driver* driver_ = nullptr;
  Handle handle_ = nullptr;
};

using Stream = Owned<CUstream, &Driver::cuStreamDestroy>;
using Event = Owned<CUevent, &Driver::cuEventDestroy>;
using Graph = Owned<CUgraph, &Driver::cuGraphDestroy>;
using GraphExec = Owned<CUgraphExec, &Driver::cuGraphExecDestroy>;

// Does not wait for the null stream's work.
[[nodiscard]] Result<Stream> make_stream(const Driver& driver);
// Its end interrupts nobody: Completions asks for it. `timed`: cuEventElapsedTime works, recording costs more.
[[nodiscard]] Result<Event> make_event(const Driver& driver, bool timed);

}  // namespace framelane::cuda
