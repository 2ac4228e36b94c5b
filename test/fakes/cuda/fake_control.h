// How tests steer and question the fake CUDA driver (libcuda_fake.so): what it exports beside the driver's functions.
// In a test's own process: fake_cuda.h. For a whole daemon: the environment variable FRAMELANE_FAKE_CUDA, read at
// cuInit, holds the options of reset().
//
// Options, "devices=2,memory=256MiB,...":
//   devices=N           1..16 (1)                    memory=SIZE     of each device (1GiB)
//   sm=90               compute capability (90)      numa=N          node of the devices, -1: none (0)
//   pinned=SIZE         most pinned memory           cuda=13000      what cuDriverGetVersion says
//   h2d=SIZE, d2h=SIZE  bytes per second (no limit)  latency=NS      of each copy (0)
//   kernel=NS           time of each kernel (0)      abort=1         abort() at the first detection
//   report=PATH         detections are appended there as they happen, leaks when the process ends
//   control=PATH        when this file appears (moved there whole), it is taken away and its options are applied
//   steady=1            as steady()                  release=1       ends hangs
//   fail=FUNCTION:K:RESULT[:TIMES], "*" for any      delay=FUNCTION:NS             lose=DEVICE:RESULT
//   hang=KERNEL:K       poison=FUNCTION:K            poison_kernel=KERNEL:K        "*" for any kernel
#pragma once

#include <cstddef>
#include <cstdint>

namespace framelane::fake_cuda {

// What it detects; the names that detections() takes. Each counts and keeps a line for report().
//   use_after_free   a copy, a launch or a graph touches memory that was freed, given back or never given out; a kernel
//                    of an unloaded module; a free of what is not there
//   given_twice      a block is given out while in use, or returned twice
//   stream_race      two streams touch the same bytes, one of them writing, and no event or wait orders them; a
//                    kernel touches from its pointer to the end of the block (of the allocation without blocks)
//   unpinned_copy    an asynchronous copy from or to unpinned host memory in the steady state
//   default_stream   work on the null stream in the steady state
//   steady_call      alloc, free, module load or device-wide synchronisation in the steady state
//   capture          a call that a stream capture does not allow
//   leak             found by check_leaks()
inline constexpr const char* kDetectors[] = {"use_after_free", "given_twice", "stream_race", "unpinned_copy",
                                             "default_stream", "steady_call", "capture",     "leak"};

// Thread-safety: a value.
struct FakeParameter {
  size_t bytes = 0;
  uint64_t value = 0;       // of at most 8 bytes, zero-extended; the first 8 of a larger one
  bool is_pointer = false;  // 64 bits that lie in live device memory
  bool written = false;     // the kernel's PTX stores through it
  uint64_t block = 0;       // where the block (or the allocation) begins that a pointer lies in
  size_t block_bytes = 0;
};

// Thread-safety: a value.
struct FakeLaunch {
  char kernel[256] = {};
  unsigned grid[3] = {}, block[3] = {};
  unsigned shared_bytes = 0;
  uint64_t stream_id = 0;
  int device = 0;
  bool replayed = false;  // by a graph
  size_t parameters = 0;
  FakeParameter parameter[64];
};

// Thread-safety: a value.
struct FakeCopy {
  enum Direction : int { host_to_device, device_to_host, device_to_device };
  Direction direction = host_to_device;
  uint64_t bytes = 0;
  uint64_t stream_id = 0;
  int device = 0;
  bool pinned = false;
  int64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
};

// Runs on the stream's thread, in place of the kernel. Device pointers become readable by host_address().
using FakeKernel = void (*)(const FakeLaunch& launch, void* user);

}  // namespace framelane::fake_cuda

// FRAMELANE_FAKE(result, name, parameters): exported as framelane_fake_<name>, C linkage. Any thread.
#define FRAMELANE_FAKE_FUNCTIONS                                                                                     \
  /* Forgets everything but cuInit: objects, faults, counts, detections; then applies the options. Waits for the */  \
  /* streams. */                                                                                                     \
  FRAMELANE_FAKE(void, reset, (const char* options))                                                                 \
  /* Applies options to what runs. */                                                                                \
  FRAMELANE_FAKE(void, apply, (const char* options))                                                                 \
  /* A block inside an allocation: state 1 given out to a stream, 0 returned. The first one in an allocation says */ \
  /* that all of it is kept this way. */                                                                             \
  FRAMELANE_FAKE(void, annotate, (unsigned long long block, size_t bytes, int state, unsigned long long stream_id))  \
  /* From now on the frame path's rules hold for every call. */                                                      \
  FRAMELANE_FAKE(void, steady, (bool on))                                                                            \
  FRAMELANE_FAKE(void, abort_on_detect, (bool on))                                                                   \
  /* nullptr: all detectors together. */                                                                             \
  FRAMELANE_FAKE(uint64_t, detections, (const char* detector))                                                       \
  /* One line per detection, "detector: what happened"; returns the length without the end. */                       \
  FRAMELANE_FAKE(size_t, report, (char* out, size_t size))                                                           \
  FRAMELANE_FAKE(void, clear_detections, ())                                                                         \
  /* Records every object that is still there as a leak; returns how many. */                                        \
  FRAMELANE_FAKE(uint64_t, check_leaks, ())                                                                          \
  /* What is there: allocations, bytes, pinned (allocations), registrations, streams, events, graphs, execs, */      \
  /* modules, links, contexts, and kernels that are hanging. */                                                      \
  FRAMELANE_FAKE(uint64_t, live, (const char* kind))                                                                 \
  /* Calls of a driver function (its name in driver_functions.def) since reset; nullptr: all. */                     \
  FRAMELANE_FAKE(uint64_t, calls, (const char* function))                                                            \
  /* The kth next call (1: the next) of a function, and the ones after it, `times` in all (0: for ever), return */   \
  /* this result. nullptr: of any function but those for error texts. What gives something back does so all the */   \
  /* same. */                                                                                                        \
  FRAMELANE_FAKE(void, fail, (const char* function, uint64_t kth, int result, uint64_t times))                       \
  /* No call is to fail any more. */                                                                                 \
  FRAMELANE_FAKE(void, mend, ())                                                                                     \
  /* Which function was made to fail last; nullptr: none since reset. Lives for ever. */                             \
  FRAMELANE_FAKE(const char*, last_failed, ())                                                                       \
  FRAMELANE_FAKE(void, delay, (const char* function, uint64_t delay_ns))                                             \
  /* The kth next run of the kernel (nullptr: of any) does not end before release_hangs(), which may come first. */  \
  FRAMELANE_FAKE(void, hang, (const char* kernel, uint64_t kth))                                                     \
  FRAMELANE_FAKE(void, release_hangs, ())                                                                            \
  /* The kth next call of the function, and all calls after it, return 700; nullptr: at once. */                     \
  FRAMELANE_FAKE(void, poison, (const char* function, uint64_t kth))                                                 \
  /* The kth next run of the kernel (nullptr: of any) faults on the device. */                                       \
  FRAMELANE_FAKE(void, poison_kernel, (const char* kernel, uint64_t kth))                                            \
  /* Every call on this device returns this result (999 when the bus has lost it). */                                \
  FRAMELANE_FAKE(void, lose_device, (int device, int result))                                                        \
  /* What runs in place of kernels of this name; "prefix*"; nullptr as function takes it away. */                    \
  FRAMELANE_FAKE(void, kernel, (const char* name, framelane::fake_cuda::FakeKernel function, void* user))            \
  /* This thread is in the fake's own code: what it allocates is not the product's. Takes no lock. */                \
  FRAMELANE_FAKE(bool, inside, ())                                                                                   \
  /* Streams start nothing more until it is off again. */                                                            \
  FRAMELANE_FAKE(void, pause, (bool on))                                                                             \
  /* Where the fake keeps this byte of device memory; nullptr: not in live memory. */                                \
  FRAMELANE_FAKE(void*, host_address, (unsigned long long device_pointer))                                           \
  /* Kernels run so far (also those of graphs), in the order in which they ended; the last 4096 are kept. */         \
  FRAMELANE_FAKE(uint64_t, launches, ())                                                                             \
  FRAMELANE_FAKE(bool, launch, (uint64_t index, framelane::fake_cuda::FakeLaunch* out))                              \
  /* Copies run so far. */                                                                                           \
  FRAMELANE_FAKE(uint64_t, copies, ())                                                                               \
  FRAMELANE_FAKE(bool, copy, (uint64_t index, framelane::fake_cuda::FakeCopy* out))

extern "C" {
#define FRAMELANE_FAKE(result, name, parameters) \
  __attribute__((visibility("default"))) result framelane_fake_##name parameters;
FRAMELANE_FAKE_FUNCTIONS
#undef FRAMELANE_FAKE
}
