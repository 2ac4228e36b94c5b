// When the next frame of a steady source is to be expected.
#pragma once

#include <cstdint>
#include <optional>

#include "core/frame.h"

namespace framelane {

// Learns a source's period and phase from the arrivals, and how early the worker has to be awake so that hardly a frame
// in two hundred finds it asleep. Knows nothing while frames come irregularly, or no longer.
// Thread-safety: the worker's.
class ArrivalForecast {
 public:
  struct Window {
    MonotonicNs begin_ns = 0;
    MonotonicNs end_ns = 0;
  };

  // How a frame found the worker.
  enum class Found : uint8_t { busy, asleep, watching };

  void arrived(MonotonicNs arrival_ns, Found found) noexcept;
  // The next window that has not passed; empty: no frame can be expected.
  [[nodiscard]] std::optional<Window> next(MonotonicNs now_ns) const noexcept;

 private:
  void learn(int64_t gap_ns) noexcept;
  void follow(int64_t error_ns) noexcept;
  void widen(int64_t error_ns, Found found) noexcept;

  MonotonicNs last_ns_ = 0;      // the last arrival; 0: none yet
  int64_t last_gap_ns_ = 0;      // before it
  int64_t period_ns_ = 0;        // 0: not learned
  MonotonicNs expected_ns_ = 0;  // the next arrival
  uint32_t strays_ = 0;          // of late: frames that came at another time
  int64_t lead_ns_ = 0;          // of the window before the expected arrival
  int64_t tail_ns_ = 0;          // after it
};

}  // namespace framelane
