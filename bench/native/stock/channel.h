// One channel of stock Halide: slots in page-locked memory, Halide's buffers around them, one thread.
#pragma once

#include <Halide.h>

#include <memory>
#include <vector>

#include "core/error.h"
#include "core/frame.h"
#include "halide/call_arguments.h"
#include "halide/plan.h"
#include "native/stock/gpu.h"
#include "native/stock/pictures.h"

namespace framelane::bench {

// What all channels run. Thread-safety: immutable once made; any number of channels may call it.
struct StockCode {
  halide::Plan plan;
  Halide::Callable callable;  // for Halide's own CUDA runtime
};

// The pipeline of the service, by its schedule. unsupported: its frames are not one plane of 8 bits.
[[nodiscard]] Result<std::unique_ptr<StockCode>> compile_stock(const StockGpu& gpu, const Workload& workload);

// When a channel's frames come. Thread-safety: a value.
struct StockTimes {
  MonotonicNs begin = 0;
  MonotonicNs end = 0;
  int64_t period_ns = 0;  // 0: the next one as soon as this one is done
  int64_t phase_ns = 0;
};

// Thread-safety: one thread, with the context current.
class StockChannel {
 public:
  // More inputs than outputs: a frame meets another result in its place than its own.
  static constexpr size_t kInputs = 4, kOutputs = 3;

  // `own_stream`: not the default stream. `pictures` has kInputs; all outlive it. One frame in `compare_every` is
  // compared with what the CPU made of it, 0: none, beginning with `first_compared`.
  [[nodiscard]] static Result<std::unique_ptr<StockChannel>> open(const StockGpu& gpu, const StockCode& code,
                                                                  const Pictures& pictures, bool own_stream,
                                                                  uint64_t compare_every, uint64_t first_compared);
  ~StockChannel();
  StockChannel(const StockChannel&) = delete;
  StockChannel& operator=(const StockChannel&) = delete;

  // One frame through each slot: device memory is taken, kernels are loaded.
  Status warm_up();
  Status run(const StockTimes& times);

  // The steps of a frame by themselves, in the first slots, once warm: each is on the stream when it returns.
  Status upload();
  Status kernels();
  Status download();
  [[nodiscard]] cuda::CUstream stream() const noexcept { return stream_.get(); }

  [[nodiscard]] const std::vector<int64_t>& latencies_ns() const noexcept { return latencies_ns_; }
  [[nodiscard]] MonotonicNs last_end() const noexcept { return last_end_; }
  [[nodiscard]] uint64_t lost() const noexcept { return lost_; }
  [[nodiscard]] uint64_t compared() const noexcept { return compared_; }
  [[nodiscard]] int worst_difference() const noexcept { return worst_difference_; }

 private:
  using Buffer = Halide::Runtime::Buffer<uint8_t, 2>;

  StockChannel(const StockCode& code, const Pictures& pictures, uint64_t compare_every, uint64_t first_compared);
  void lay_out_slots();
  // What is new in the input goes up first.
  Status call(Buffer& input, Buffer& output);
  // Up, kernels, down; the result is in its slot.
  Status frame();
  Status run_free(const StockTimes& times);
  Status run_paced(const StockTimes& times);
  void finish(MonotonicNs arrival, MonotonicNs end);

  const StockCode& code_;
  const Pictures& pictures_;
  const uint64_t compare_every_;
  uint64_t until_compared_;
  StockCall call_;
  cuda::Stream stream_;
  std::unique_ptr<RegisteredMemory> memory_;
  halide::CallArguments arguments_;
  std::vector<Buffer> inputs_, outputs_;
  uint64_t frames_ = 0;  // begun
  std::vector<int64_t> latencies_ns_;
  MonotonicNs last_end_ = 0;
  uint64_t lost_ = 0;
  uint64_t compared_ = 0;
  int worst_difference_ = 0;
};

}  // namespace framelane::bench
