// The CUDA driver as a table of functions, opened while running: one build for machines with and without a GPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "cuda/call_gate.h"
#include "cuda/driver_types.h"

namespace framelane::cuda {

// What a call means: in the steady state only event, copy, launch, wait and query are left.
enum class CallKind : uint8_t {
  query,
  setup,
  alloc,
  free,
  device_sync,
  copy,
  event,
  wait,
  launch,
  module_load,
  link,
  graph,
};

// Of a block of device memory inside an arena.
enum class BlockState : int { returned = 0, given = 1 };

// Whether a call of this kind wants to be alone in the driver (call_gate.h).
[[nodiscard]] constexpr bool alone(CallKind kind) noexcept {
  return kind == CallKind::setup || kind == CallKind::alloc || kind == CallKind::free ||
         kind == CallKind::module_load || kind == CallKind::graph;
}

// One function of the driver with its number of calls.
// Thread-safety: calls from any thread; the count is exact.
template <CallKind kind, typename Signature>
class DriverFunction;

template <CallKind kind, typename... Parameters>
class alignas(64) DriverFunction<kind, CUresult(Parameters...)> {
 public:
  using Pointer = CUresult (*)(Parameters...);
  CUresult operator()(Parameters... parameters) const noexcept {
    calls_.fetch_add(1, std::memory_order_relaxed);
    if constexpr (alone(kind)) {
      const CallGate::Place place = gate_->begin();
      const CUresult result = function_(parameters...);
      gate_->end(place);
      return result;
    }
    if constexpr (kind == CallKind::copy || kind == CallKind::launch) gate_->pass();
    return function_(parameters...);
  }
  [[nodiscard]] uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }

 private:
  friend class Driver;
  Pointer function_ = nullptr;
  CallGate* gate_ = nullptr;
  mutable std::atomic<uint64_t> calls_{0};
};

// Thread-safety: immutable once open but for the counts; lives to the end of the process, for Halide's runtime keeps
// pointers to it.
class Driver {
 public:
  // Opens the library ("libcuda.so.1"), checks that it has every function and initialises it. An error says in one
  // sentence why this machine has no GPU to offer.
  // Blocks; never closes the library again. The same name gives the same driver.
  [[nodiscard]] static Result<const Driver*> open(const std::string& library);

  // The text "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)" with the code that belongs to it.
  [[nodiscard]] Error error(std::string_view call, CUresult result) const;
  [[nodiscard]] int version() const noexcept { return version_; }  // 13000: CUDA 13.0

  struct Count {
    std::string_view name;  // "cuMemAlloc"; lives for ever
    CallKind kind;
    uint64_t calls;
  };
  static constexpr size_t kFunctions = 0
#define FRAMELANE_DRIVER(kind, name, symbol, parameters) +1
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
      ;
  // Fills as many as there is room for, in the order of the list; returns how many.
  size_t counts(std::span<Count> out) const noexcept;
  [[nodiscard]] uint64_t calls(CallKind kind) const noexcept;  // of all functions of this kind together

  // Tells the fake driver of the tests who has which part of an arena; the real driver does not ask, and then this does
  // nothing. `given`: before the owner's first use, with the stream (cuStreamGetId) that it was given to. `returned`:
  // once somebody else may get it; not for a block that a captured graph still holds. Any thread; never waits.
  void annotate(CUdeviceptr block, size_t bytes, BlockState state, unsigned long long stream_id) const noexcept {
    if (annotate_ != nullptr) annotate_(block, bytes, static_cast<int>(state), stream_id);
  }

  // For a call that others pass by though it is none of those that the table takes for one.
  [[nodiscard]] CallGate& gate() const noexcept { return gate_; }

  // What libcuda exports under this name, as the driver itself has it; nullptr: not on the list.
  [[nodiscard]] void* address(std::string_view symbol) const noexcept;

#define FRAMELANE_DRIVER(kind, name, symbol, parameters) DriverFunction<CallKind::kind, CUresult parameters> name;
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER

 private:
  Driver() = default;
  [[nodiscard]] Status load(void* library, const std::string& name);

  mutable CallGate gate_;
  int version_ = 0;
  void (*annotate_)(CUdeviceptr, size_t, int, unsigned long long) = nullptr;
};

// True when no context of this process will work again: only a new process gets the GPU back.
[[nodiscard]] bool is_fatal(CUresult result) noexcept;

}  // namespace framelane::cuda
