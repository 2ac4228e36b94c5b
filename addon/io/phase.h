// When in its period a source that has a clock of its own has its frames due.
#pragma once

#include <cstdint>

#include "core/frame.h"

namespace framelane::io {

inline constexpr long double kNsPerSecond = 1e9L;

// A moment in each period, the periods counted from the zero of CLOCK_MONOTONIC: the same for all processes of a
// machine since it was started, so that channels keep to each other across restarts and engines.
struct Phase {
  double part = 0;         // of the period, 0 to 1
  double slowest_fps = 0;  // slower sources count periods of this rate, so that their first frame comes soon
};

// `stagger: off`: frames are due at whole multiples of the period, at the same time in all channels of one rate.
[[nodiscard]] constexpr Phase in_phase() noexcept {
  return {};
}

// `stagger: auto`: the phase of the channel whose cell in the statistics block is `cell`. It depends on nothing else,
// so it stays while other channels come and go.
//
// The phases are multiples of the golden ratio, of which each next one falls into a largest of the gaps that are left
// (D. E. Knuth, The Art of Computer Programming, vol. 3, section 6.4, theorem S and the text after it: no other
// number spreads its multiples more evenly). Of n cells in a row the largest gap is below 1.9 / n of the period, the
// smallest above 0.44 / n. Cells are numbered over all devices, so a device may have every s-th one only: up to s = 8
// the largest gap stays below 5.5 / n. The bit-reversed cell (van der Corput's sequence) would put all even cells, a
// whole device, into one half of the period.
[[nodiscard]] Phase staggered(uint32_t cell) noexcept;

// The first moment of `phase` at or after `now_ns`. Computed from the zero of the clock with the exact period: with
// one rounded to nanoseconds, channels that start an hour apart would be apart by up to a part of a period.
[[nodiscard]] MonotonicNs first_due_ns(MonotonicNs now_ns, double fps, const Phase& phase) noexcept;

}  // namespace framelane::io
