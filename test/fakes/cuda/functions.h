// The driver functions that the library exports, by name, and the guard with which each begins.
#pragma once

#include <optional>
#include <string_view>

#include "cuda/driver.h"
#include "fakes/cuda/state.h"

namespace framelane::fake_cuda {

extern "C" {
#define FRAMELANE_DRIVER(kind, name, symbol, parameters) \
  __attribute__((visibility("default"))) CUresult symbol parameters;
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
}

enum class Function : uint8_t {
#define FRAMELANE_DRIVER(kind, name, symbol, parameters) name,
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
};
inline constexpr size_t kFunctions = cuda::Driver::kFunctions;

[[nodiscard]] const char* name_of(Function function);
[[nodiscard]] cuda::CallKind kind_of(Function function);
// Ends the process when there is none of this name: the test is wrong.
[[nodiscard]] Function function_named(std::string_view name);

inline constexpr CUresult kIllegalState = static_cast<CUresult>(401);

// One call of the driver: counts it, waits out its delay, takes the lock, and knows whether it is to fail.
// Thread-safety: on one thread's stack.
class Call : public Ledger {
 public:
  explicit Call(Function function);

  // What this call returns at once; a function that gives something back does so first and then returns end().
  [[nodiscard]] CUresult refused() const noexcept { return result_; }
  // The call's result: one that was to fail, or has run into a poisoned device, does not succeed.
  [[nodiscard]] CUresult end(CUresult result) const;

  // The calling thread's context; nullptr, with the reason in refused(): there is none.
  [[nodiscard]] std::shared_ptr<Context> context();
  [[nodiscard]] CUcontext context_handle() const noexcept;

  // For calls that no capture allows: invalidates the captures that this one hurts. False: refused() has the reason.
  [[nodiscard]] bool allowed_in_capture();

 private:
  void refuse(CUresult result) noexcept {
    if (result_ == CUDA_SUCCESS) result_ = result;
  }
  [[nodiscard]] CUresult sticky() const;

  Function function_;
  CUresult result_ = CUDA_SUCCESS;
  int device_ = -1;
};

// Of the calling thread. Contexts that are gone stay on it, as in the real driver.
struct ThreadState {
  std::vector<CUcontext> contexts;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};
ThreadState& this_thread();

// Faults, see fake_control.h. Under a Ledger.
void fail_function(std::optional<Function> function, uint64_t kth, CUresult result, uint64_t times);
// The call that was made to fail last; nullptr: none since reset.
[[nodiscard]] const char* last_failed();
void delay_function(Function function, uint64_t delay_ns);
void poison_function(Function function, uint64_t kth);
void poison_now();
void lose(int device, CUresult result);
void mend_functions();
void clear_faults();
[[nodiscard]] uint64_t count_calls(std::optional<Function> function);
// A device's streams run nothing more: poisoned or lost.
[[nodiscard]] bool is_dead(int device);

}  // namespace framelane::fake_cuda
