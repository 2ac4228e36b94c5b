#include "native/stock/bus_rate.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/frame.h"
#include "cuda/context.h"
#include "native/stock/gpu.h"

namespace framelane::bench {
namespace {

using cuda::CUresult;

// Copies that are on their way, each way; each has its own slot and its own block of device memory.
constexpr size_t kDeep = 8;
constexpr size_t kStreams = 2;
constexpr int64_t kWarmUpNs = 200'000'000;

// One way: up to the device or down from it. Thread-safety: one thread; the context is current.
class Way {
 public:
  Way(const cuda::Driver& driver, size_t copy_bytes, bool up) : driver_(driver), copy_bytes_(copy_bytes), up_(up) {}
  ~Way() {
    for (const cuda::Stream& stream : streams_) driver_.cuStreamSynchronize(stream.get());
    for (const cuda::CUdeviceptr block : blocks_) driver_.cuMemFree(block);
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  Status open() {
    Result<std::unique_ptr<RegisteredMemory>> slots = RegisteredMemory::create(driver_, kDeep * copy_bytes_);
    if (!slots) return slots.error();
    slots_ = slots.take();
    for (size_t i = 0; i < kStreams; ++i) {
      Result<cuda::Stream> stream = cuda::make_stream(driver_);
      if (!stream) return stream.error();
      streams_.push_back(stream.take());
    }
    for (size_t i = 0; i < kDeep; ++i) {
      Result<cuda::Event> event = cuda::make_event(driver_, false);
      if (!event) return event.error();
      events_.push_back(event.take());
      cuda::CUdeviceptr block = 0;
      if (const CUresult result = driver_.cuMemAlloc(&block, copy_bytes_); result != cuda::CUDA_SUCCESS)
        return driver_.error("cuMemAlloc", result);
      blocks_.push_back(block);
    }
    return {};
  }

  // Waits until the copy that used this place before is done.
  Status wait(uint64_t copy) const {
    for (;;) {
      const CUresult result = driver_.cuEventQuery(events_[copy % kDeep].get());
      if (result == cuda::CUDA_SUCCESS) return {};
      if (result != cuda::CUDA_ERROR_NOT_READY) return driver_.error("cuEventQuery", result);
    }
  }

  Status enqueue(uint64_t copy) const {
    const size_t place = copy % kDeep;
    const cuda::CUstream stream = streams_[copy % kStreams].get();
    std::byte* const slot = slots_->data() + place * copy_bytes_;
    CUresult result = up_ ? driver_.cuMemcpyHtoDAsync(blocks_[place], slot, copy_bytes_, stream)
                          : driver_.cuMemcpyDtoHAsync(slot, blocks_[place], copy_bytes_, stream);
    if (result == cuda::CUDA_SUCCESS) result = driver_.cuEventRecord(events_[place].get(), stream);
    return result == cuda::CUDA_SUCCESS ? Status() : driver_.error("a copy", result);
  }

 private:
  const cuda::Driver& driver_;
  const size_t copy_bytes_;
  const bool up_;
  std::unique_ptr<RegisteredMemory> slots_;
  std::vector<cuda::Stream> streams_;
  std::vector<cuda::Event> events_;
  std::vector<cuda::CUdeviceptr> blocks_;
};

// Both ways from `copy` on until so much time has gone by; the copies that ended meanwhile, by the second.
Result<double> copies_per_second(const Way& up, const Way& down, int64_t duration_ns, uint64_t& copy) {
  const uint64_t first = copy;
  const MonotonicNs begin = monotonic_now_ns();
  MonotonicNs now = begin;
  for (; now - begin < duration_ns; now = monotonic_now_ns(), ++copy) {
    for (const Way* way : {&up, &down}) {
      if (Status status = way->wait(copy); !status) return status.error();
      if (Status status = way->enqueue(copy); !status) return status.error();
    }
  }
  return static_cast<double>(copy - first) * 1e9 / static_cast<double>(now - begin);
}

}  // namespace

Result<double> measure_bus(const cuda::Driver& driver, size_t copy_bytes, int windows, int64_t window_ns) {
  Way up(driver, copy_bytes, true), down(driver, copy_bytes, false);
  for (Way* way : {&up, &down})
    if (Status status = way->open(); !status) return status.error();
  uint64_t copy = 0;
  if (Result<double> warm = copies_per_second(up, down, kWarmUpNs, copy); !warm) return warm.error();
  std::vector<double> rates;
  for (int i = 0; i < windows; ++i) {
    Result<double> rate = copies_per_second(up, down, window_ns, copy);
    if (!rate) return rate.error();
    rates.push_back(rate.value());
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2] * static_cast<double>(copy_bytes);
}

}  // namespace framelane::bench
