// Everything the fake driver knows. All of it is under the Ledger's lock, but for what says otherwise.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cuda/driver_types.h"
#include "fakes/cuda/fake_control.h"
#include "fakes/cuda/ledger.h"

namespace framelane::fake_cuda {

using namespace framelane::cuda;

// What has happened: of each stream (by its id), up to which of its works.
using Clock = std::map<uint64_t, uint64_t>;
void join(Clock& into, const Clock& from);

struct Access {
  uint64_t begin = 0, end = 0;
  uint64_t lane = 0, tick = 0;  // the stream and its time
  bool write = false;
  std::string what;
};

struct Block {
  uint64_t end = 0;
  bool given = false;
  uint64_t stream_id = 0;
};

// Device memory. Its address means nothing to the host: `backing` is where the bytes are.
struct Allocation {
  uint64_t begin = 0;
  size_t bytes = 0;
  int device = 0;
  CUcontext context = nullptr;
  std::byte* backing = nullptr;
  bool annotated = false;
  std::map<uint64_t, Block> blocks;  // by begin, apart from each other
  std::vector<Access> accesses;
  ~Allocation();
};

struct HostRange {
  uintptr_t begin = 0;
  size_t bytes = 0;
  bool registered = false;  // else allocated here
  unsigned flags = 0;
};

struct Touch {
  uint64_t begin = 0;
  uint64_t end = 0;  // 0: to the end of the block
  bool write = false;
};

struct Plane {
  uint64_t device = 0;  // 0: host memory
  std::byte* host = nullptr;
  size_t pitch = 0, slice = 0;
  std::shared_ptr<Allocation> allocation;
};

struct KernelImage {
  std::string name;
  struct Parameter {
    size_t bytes = 0;
    bool written = true;
  };
  std::vector<Parameter> parameters;
};

struct Module {
  CUcontext context = nullptr;
  bool unloaded = false;
  std::vector<KernelImage> kernels;
};

struct Work {
  enum class Kind : uint8_t { copy, fill, kernel, host };
  Kind kind = Kind::host;
  std::string what;
  Plane to, from;
  size_t width = 0, height = 1, depth = 1;
  unsigned char value = 0;
  std::vector<std::byte> staged;  // of an upload from pageable memory
  bool pinned = true;
  std::shared_ptr<const FakeLaunch> launch;
  std::shared_ptr<Module> module;
  CUhostFn function = nullptr;
  void* data = nullptr;
  std::vector<Touch> touches;
  std::vector<size_t> after;  // in a graph: the nodes before it
  size_t lane = 0;            // in a graph: which of the captured streams it was put on
};

struct Stream;

// One thing in a stream's queue. `done` once it has run.
struct Op {
  std::shared_ptr<Stream> owner;  // until it is done
  std::vector<std::shared_ptr<Op>> waits;
  std::vector<Work> work;
  bool replayed = false;
  bool done = false;
  int64_t done_ns = 0;
  Clock clock;
};

struct Graph {
  CUcontext context = nullptr;
  std::vector<Work> nodes;
  size_t lanes = 1;
};

struct GraphExec {
  Graph graph;
  std::vector<uint64_t> lane_ids;  // of the lanes after the first
  std::shared_ptr<Op> last;
};

struct Capture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  Stream* origin = nullptr;
  std::vector<std::shared_ptr<Stream>> members;
  Graph graph;
  bool invalid = false;
  bool ended = false;
};

struct Stream {
  CUstream handle = nullptr;
  uint64_t id = 0;
  CUcontext context = nullptr;
  int device = 0;
  bool blocking = false;  // ordered with the null stream
  bool is_null = false;
  bool closing = false, abandoned = false;
  std::deque<std::shared_ptr<Op>> queue;
  std::shared_ptr<Op> last;
  Clock clock;
  std::condition_variable work, done;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> tail;  // the nodes that its next node follows
  size_t lane = 0;
};

struct Event {
  CUcontext context = nullptr;
  unsigned flags = 0;
  std::shared_ptr<Op> last;
  std::shared_ptr<Capture> capture;  // recorded last while capturing
  std::vector<size_t> tail;
};

struct Context {
  int device = 0;
  bool primary = false;
  unsigned flags = 0;
  std::shared_ptr<Stream> null_stream;
};

struct Link {
  CUcontext context = nullptr;
  std::vector<std::string> ptx;
  std::vector<std::byte> cubin;
};

struct Device {
  bool lost = false;
  CUresult lost_result = CUDA_SUCCESS;
  CUcontext primary = nullptr;
  unsigned primary_flags = 0, primary_references = 0;
  size_t used_bytes = 0;
  uint64_t next_address = 0;
  std::array<int64_t, 3> engine_free_ns{};  // by FakeCopy::Direction
};

// Handles are taken from the one that was given back last, as the real driver does: a stale one may mean another thing.
template <typename Handle, typename Object>
class Table {
 public:
  explicit Table(uintptr_t first) : next_(first) {}
  Handle add(std::shared_ptr<Object> object) {
    uintptr_t value = next_;
    if (!free_.empty()) {
      value = free_.back();
      free_.pop_back();
    } else {
      next_ += 64;
    }
    objects_[value] = std::move(object);
    return reinterpret_cast<Handle>(value);
  }
  [[nodiscard]] std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<Object> take(Handle handle) {
    std::shared_ptr<Object> object = find(handle);
    if (object) {
      objects_.erase(reinterpret_cast<uintptr_t>(handle));
      free_.push_back(reinterpret_cast<uintptr_t>(handle));
    }
    return object;
  }
  [[nodiscard]] const std::map<uintptr_t, std::shared_ptr<Object>>& all() const { return objects_; }
  void clear() { *this = Table(next_); }

 private:
  uintptr_t next_;
  std::vector<uintptr_t> free_;
  std::map<uintptr_t, std::shared_ptr<Object>> objects_;
};

struct Options {
  int devices = 1;
  size_t memory_bytes = size_t{1} << 30;
  size_t pinned_bytes = SIZE_MAX;
  int sm = 90;
  int numa_node = 0;
  int version = 13000;
  uint64_t h2d_bytes_per_second = 0, d2h_bytes_per_second = 0;  // 0: no limit
  int64_t latency_ns = 0, kernel_ns = 0;
  bool abort_on_detect = false;
  bool steady = false;
  std::string report_path;
  std::string control_path;
};

struct KernelStandIn {
  FakeKernel function = nullptr;
  void* user = nullptr;
};

// Of a named kernel: its kth next run.
struct KernelFault {
  std::string kernel;  // empty: any
  uint64_t left = 0;
  bool poisons = false;  // else it never ends
};

struct State {
  bool initialised = false, configured = false;
  Options options;
  std::array<Device, 16> devices;
  Table<CUcontext, Context> contexts{0x10000000};
  Table<CUstream, Stream> streams{0x20000000};
  Table<CUevent, Event> events{0x30000000};
  Table<CUmodule, Module> modules{0x40000000};
  Table<CUgraph, Graph> graphs{0x50000000};
  Table<CUgraphExec, GraphExec> execs{0x60000000};
  Table<CUlinkState, Link> links{0x70000000};
  std::map<std::pair<CUmodule, std::string>, CUfunction> functions;
  std::map<CUfunction, std::pair<std::shared_ptr<Module>, size_t>> kernels;
  uintptr_t next_function = 0x80000000;
  std::map<uint64_t, std::shared_ptr<Allocation>> memory;  // by begin
  std::map<uintptr_t, HostRange> host;                     // by begin
  std::vector<std::shared_ptr<Capture>> captures;
  Clock host_clock;  // what any thread of the host has waited for
  uint64_t next_stream_id = 2;
  std::set<Stream*> running;  // whose thread has not ended, those that were destroyed included
  std::condition_variable thread_left;
  bool paused = false;
  bool poisoned = false;
  uint64_t hanging = 0;          // kernels that do so now
  uint64_t hang_generation = 0;  // release_hangs() ends those of the generations before
  std::vector<KernelFault> kernel_faults;
  std::map<std::string, KernelStandIn> stand_ins;
  std::deque<FakeLaunch> launches;
  std::deque<FakeCopy> copies;
  uint64_t launch_count = 0, copy_count = 0;
};

// Never destroyed. Only under a Ledger.
State& state();

// Whether the driver shows a device of this number.
inline bool is_device(CUdevice device) {
  return device >= 0 && device < state().options.devices;
}

}  // namespace framelane::fake_cuda
