// How other threads make a channel's worker look up.
#pragma once

#include <atomic>

#include "core/signal.h"

namespace framelane {

// The worker reads one atomic per frame; when it is set, it looks at everything that may have changed.
// Thread-safety: shared by the worker and by whatever may outlive it for a moment (a compile that still runs);
// raise() from any thread, the others by the worker.
class Attention {
 public:
  void raise() noexcept {
    raised_.store(true, std::memory_order_seq_cst);
    signal_.notify();
  }
  [[nodiscard]] bool raised() const noexcept { return raised_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool take() noexcept { return raised() && raised_.exchange(false, std::memory_order_seq_cst); }
  [[nodiscard]] Signal& signal() noexcept { return signal_; }

 private:
  std::atomic<bool> raised_{false};
  Signal signal_;
};

}  // namespace framelane
