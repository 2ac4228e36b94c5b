// The two names of loss. received = processed + sum(dropped) + in flight;
// delivered by the device = received + sum(lost).
#pragma once

#include <cstdint>

namespace framelane {

// Never reached a slot. Counted by the source's thread.
enum class LostReason : uint8_t { transport, incomplete, id_gap, ring_full };

// Was in a slot and was not processed.
enum class DroppedReason : uint8_t { overwritten, superseded, late, error, restart, shutdown };

}  // namespace framelane
