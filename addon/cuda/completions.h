// Waking those who wait for the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "core/signal.h"
#include "cuda/context.h"

namespace framelane::cuda {

// The driver can wake who waits for an event, by an interrupt for each and a thread of its own. With many channels that
// costs more than the frames' other calls, and delays them (docs/performance.md). Instead one thread asks about all
// events that somebody waits for, some 20 to 50 us apart, and sleeps between: the waiting workers cost nothing, and
// while nobody waits the thread costs nothing either. Waiting allocates nothing and takes no lock of ours.
// Thread-safety: wait() from any thread with the context current; open() before all of them, close() after.
// Owned by the device, outlives its lanes.
class Completions {
 public:
  // What one wait needs; kept by the caller, for one wait at a time.
  class Ticket {
   public:
    Ticket() = default;
    ~Ticket() { settle(); }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

   private:
    friend class Completions;
    // Who waited may go on while the thread that woke him has not left the signal yet.
    void settle() const noexcept;

    CUevent event_ = nullptr;
    CUresult result_ = CUDA_SUCCESS;
    Ticket* next_ = nullptr;
    std::atomic<bool> over_{false}, held_{false};
    Signal signal_;
  };

  Completions() = default;
  ~Completions() { close(); }
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  // Until then, and after close(), who waits does so in the driver.
  [[nodiscard]] Status open(const Context& context);
  void close() noexcept;

  // Sleeps until the event is over; what the driver then says of it, never CUDA_ERROR_NOT_READY.
  [[nodiscard]] CUresult wait(const Driver& driver, CUevent event, Ticket& ticket) noexcept;

 private:
  void run() noexcept;
  void take_arrived() noexcept;
  void ask() noexcept;

  const Context* context_ = nullptr;  // none: closed
  std::atomic<Ticket*> arrived_{nullptr};
  std::atomic<bool> ending_{false};
  Signal bell_;
  // Of the thread: those who wait, in the order in which they came.
  Ticket* first_ = nullptr;
  Ticket** end_ = &first_;
  uint32_t waiting_ = 0;
  std::thread thread_;
};

}  // namespace framelane::cuda
