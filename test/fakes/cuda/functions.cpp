#include "fakes/cuda/functions.h"

#include <cstdio>
#include <cstdlib>

#include "fakes/cuda/detectors.h"
#include "fakes/cuda/options.h"
#include "fakes/cuda/stream.h"

namespace framelane::fake_cuda {
namespace {

struct Fault {
  uint64_t before = 0;  // calls that still succeed
  uint64_t left = 0;
  bool for_ever = false;
  bool poisons = false;
  CUresult result = CUDA_SUCCESS;
};

struct FunctionState {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> delay_ns{0};
  std::vector<Fault> faults;  // under the lock
};

std::array<FunctionState, kFunctions>& function_states() {
  static auto& states = *new std::array<FunctionState, kFunctions>;
  return states;
}

// Of the kth call of any function.
struct AnyFunction {
  std::vector<Fault> faults;
  const char* last_failed = nullptr;
};

AnyFunction& any_function() {
  static AnyFunction& one = *new AnyFunction;
  return one;
}

FunctionState& state_of(Function function) {
  return function_states()[static_cast<size_t>(function)];
}

constexpr const char* kNames[] = {
#define FRAMELANE_DRIVER(kind, name, symbol, parameters) #name,
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
};

// What still works in a process whose GPU has faulted: it touches no device.
bool works_when_poisoned(Function function) {
  switch (function) {
    case Function::cuGetErrorName:
    case Function::cuGetErrorString:
    case Function::cuInit:
    case Function::cuDriverGetVersion:
    case Function::cuDeviceGetCount:
    case Function::cuDeviceGet:
    case Function::cuDeviceGetAttribute:
    case Function::cuDeviceGetName:
    case Function::cuDeviceGetUuid:
    case Function::cuDeviceGetPCIBusId:
    case Function::cuDeviceTotalMem:
    case Function::cuCtxSetCurrent:
    case Function::cuCtxGetCurrent:
    case Function::cuCtxGetDevice:
    case Function::cuCtxGetApiVersion:
    case Function::cuCtxPushCurrent:
    case Function::cuCtxPopCurrent:
    case Function::cuThreadExchangeStreamCaptureMode:
    case Function::cuStreamGetId: return true;
    default: return false;
  }
}

// Asking for an error's text is part of dealing with the error.
bool is_error_text(Function function) {
  return function == Function::cuGetErrorName || function == Function::cuGetErrorString;
}

bool works_before_init(Function function) {
  return function == Function::cuInit || function == Function::cuDriverGetVersion || is_error_text(function);
}

CUresult take_fault(std::vector<Fault>& faults) {
  CUresult result = CUDA_SUCCESS;
  for (Fault& fault : faults) {
    if (fault.before > 0) {
      --fault.before;
      continue;
    }
    if (!fault.for_ever && fault.left == 0) continue;
    if (!fault.for_ever) --fault.left;
    if (fault.poisons) poison_now();
    if (result == CUDA_SUCCESS) result = fault.result;
  }
  return result;
}

CUresult take_faults(Function function) {
  const CUresult own = take_fault(state_of(function).faults);
  const CUresult any = is_error_text(function) ? CUDA_SUCCESS : take_fault(any_function().faults);
  const CUresult result = own != CUDA_SUCCESS ? own : any;
  if (result != CUDA_SUCCESS) any_function().last_failed = name_of(function);
  return result;
}

bool is_steady_call(cuda::CallKind kind) {
  return kind == cuda::CallKind::alloc || kind == cuda::CallKind::free || kind == cuda::CallKind::device_sync ||
         kind == cuda::CallKind::module_load;
}

}  // namespace

const char* name_of(Function function) {
  return kNames[static_cast<size_t>(function)];
}

cuda::CallKind kind_of(Function function) {
  static constexpr cuda::CallKind kKinds[] = {
#define FRAMELANE_DRIVER(kind, name, symbol, parameters) cuda::CallKind::kind,
#include "cuda/driver_functions.def"
#undef FRAMELANE_DRIVER
  };
  return kKinds[static_cast<size_t>(function)];
}

Function function_named(std::string_view name) {
  for (size_t at = 0; at < kFunctions; ++at)
    if (name == kNames[at]) return static_cast<Function>(at);
  std::fprintf(stderr, "the fake CUDA driver: there is no function '%.*s'\n", static_cast<int>(name.size()),
               name.data());
  std::abort();
}

ThreadState& this_thread() {
  // In the thread's own block: ThreadSanitizer takes the loader's freeing of one made later for a race.
  __attribute__((tls_model("initial-exec"))) static thread_local ThreadState mine;
  return mine;
}

Call::Call(Function function)
    : Ledger(state_of(function).delay_ns.load(std::memory_order_relaxed)), function_(function) {
  state_of(function).calls.fetch_add(1, std::memory_order_relaxed);
  State& all = state();
  if (!all.initialised && !works_before_init(function)) refuse(CUDA_ERROR_NOT_INITIALIZED);
  if (!all.options.control_path.empty()) read_control_file();
  const ThreadState& thread = this_thread();
  if (!thread.contexts.empty())
    if (const auto current = all.contexts.find(thread.contexts.back())) device_ = current->device;
  if (all.options.steady && is_steady_call(kind_of(function)))
    detect(Detector::steady_call, std::string(name_of(function)) + " in the steady state");
  refuse(take_faults(function));
  refuse(sticky());
}

CUresult Call::sticky() const {
  if (works_when_poisoned(function_)) return CUDA_SUCCESS;
  if (state().poisoned) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (device_ >= 0 && state().devices[static_cast<size_t>(device_)].lost)
    return state().devices[static_cast<size_t>(device_)].lost_result;
  return CUDA_SUCCESS;
}

CUresult Call::end(CUresult result) const {
  if (result_ != CUDA_SUCCESS) return result_;
  const CUresult late = sticky();
  return late != CUDA_SUCCESS ? late : result;
}

CUcontext Call::context_handle() const noexcept {
  const ThreadState& thread = this_thread();
  return thread.contexts.empty() ? nullptr : thread.contexts.back();
}

std::shared_ptr<Context> Call::context() {
  const CUcontext handle = context_handle();
  std::shared_ptr<Context> found = handle == nullptr ? nullptr : state().contexts.find(handle);
  if (!found) refuse(handle == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return found;
}

bool Call::allowed_in_capture() {
  const CUstreamCaptureMode mode = this_thread().capture_mode;
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return true;
  bool allowed = true;
  for (const std::shared_ptr<Capture>& capture : state().captures) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool hurt = mine ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                           : mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!hurt) continue;
    capture->invalid = true;
    allowed = false;
  }
  if (allowed) return true;
  detect(Detector::capture, std::string(name_of(function_)) + " while a stream is being captured");
  refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return false;
}

const char* last_failed() {
  return any_function().last_failed;
}

void fail_function(std::optional<Function> function, uint64_t kth, CUresult result, uint64_t times) {
  std::vector<Fault>& faults = function ? state_of(*function).faults : any_function().faults;
  faults.push_back({kth > 0 ? kth - 1 : 0, times, times == 0, false, result});
}

void delay_function(Function function, uint64_t delay_ns) {
  state_of(function).delay_ns.store(delay_ns, std::memory_order_relaxed);
}

void poison_function(Function function, uint64_t kth) {
  state_of(function).faults.push_back({kth > 0 ? kth - 1 : 0, 1, false, true, CUDA_ERROR_ILLEGAL_ADDRESS});
}

void poison_now() {
  state().poisoned = true;
  wake_streams();
}

void lose(int device, CUresult result) {
  Device& lost = state().devices.at(static_cast<size_t>(device));
  lost.lost = true;
  lost.lost_result = result;
  wake_streams();
}

bool is_dead(int device) {
  return state().poisoned || state().devices[static_cast<size_t>(device)].lost;
}

void mend_functions() {
  any_function().faults.clear();
  for (FunctionState& function : function_states()) function.faults.clear();
}

void clear_faults() {
  mend_functions();
  any_function() = {};
  for (FunctionState& function : function_states()) {
    function.calls.store(0, std::memory_order_relaxed);
    function.delay_ns.store(0, std::memory_order_relaxed);
  }
}

uint64_t count_calls(std::optional<Function> function) {
  if (function) return state_of(*function).calls.load(std::memory_order_relaxed);
  uint64_t sum = 0;
  for (const FunctionState& one : function_states()) sum += one.calls.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace framelane::fake_cuda
