// Notices that a device is lost: a call that says so, a frame that the device does not finish, or a driver that does
// not answer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/device.h"
#include "cuda/context.h"

namespace framelane::cuda {

// How far a lane's frame is. Owned by the lane, which tells the watch of it before the first frame.
// Thread-safety: one thread at a time writes, whoever handles the lane's frame; the watch reads.
class alignas(64) LaneProgress {
 public:
  // In `since_ns` for `event`; nullptr: the driver is being called. Passes through 0, so that a reader who sees the
  // same time twice has the event that belongs to it.
  struct Stand {
    MonotonicNs since_ns = 0;  // 0: nothing is awaited
    CUevent event = nullptr;
  };

  void calling() noexcept { set(nullptr); }
  // All calls have returned; the event is behind them on the stream.
  void on_device(const Event& event) noexcept { set(event.get()); }
  void idle() noexcept { since_ns_.store(0, std::memory_order_release); }

  [[nodiscard]] Stand stand() const noexcept;
  [[nodiscard]] bool is(const Stand& stand) const noexcept {
    return since_ns_.load(std::memory_order_acquire) == stand.since_ns;
  }
  [[nodiscard]] uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }

  std::string channel;  // set before the watch hears of it

 private:
  void set(CUevent event) noexcept;

  std::atomic<MonotonicNs> since_ns_{0};
  std::atomic<CUevent> event_{nullptr};
  std::atomic<uint64_t> steps_{0};
};

// A frame is late for one of three reasons, which only the device can tell apart: its kernels do not end; the driver
// has hung; or its threads did not get their turn in the driver, whose locks are not fair. Only the first two are the
// device's loss. (For the third, the watch keeps the others out of the driver until the call has had its turn.) So
// before the watch reports one, it asks the device, on a thread of its own that may hang. Thread-safety: any thread.
// Owned by the device; outlives its lanes.
class Watch {
 public:
  // `timeout_ns`: longer than this a frame is not on the device, and no answer takes; 0: no bound.
  Watch(const Context& context, int64_t timeout_ns);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void listen(DeviceListener& listener);
  void add(const LaneProgress& lane);
  // Waits while the device is asked about this lane, unless it is lost.
  void remove(const LaneProgress& lane) noexcept;

  // The first one is told to the listener; after it, lost() is true for ever. Does not wait.
  void report(const Error& why) noexcept;
  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }

 private:
  struct Watched {
    const LaneProgress* lane;
    MonotonicNs finished_ns = 0;  // of a stand that the device was asked about: it has finished it
  };
  // What the watch wants to know of the device; the lane is not removed until it is answered.
  struct Question {
    const LaneProgress* lane;  // nullptr: it has gone, for the device is lost
    LaneProgress::Stand stand;
    MonotonicNs asked_ns;
    bool taken = false;
  };

  void watch();  // the two threads
  void ask();
  void look(MonotonicNs now) noexcept;
  void help(MonotonicNs now) noexcept;
  void judge(const LaneProgress& lane, const LaneProgress::Stand& stand, MonotonicNs now) noexcept;
  [[nodiscard]] CUresult query(CUevent event) const noexcept;
  void settle(CUresult result) noexcept;
  [[nodiscard]] Error late(const LaneProgress& lane, const char* what) const;

  const Context& context_;
  const int64_t timeout_ns_;
  std::atomic<bool> lost_{false};
  std::atomic<DeviceListener*> listener_{nullptr};

  std::mutex mutex_;  // everything below
  std::condition_variable changed_;
  bool ending_ = false;
  std::vector<Watched> lanes_;
  uint64_t steps_ = 0;        // of all lanes, when it last changed
  MonotonicNs moved_ns_ = 0;  // when that was
  std::optional<Question> question_;
  CallGate::Place helped_ = CallGate::kNone;  // of a lane whose calls are held up
  std::thread watcher_, asker_;
};

}  // namespace framelane::cuda
