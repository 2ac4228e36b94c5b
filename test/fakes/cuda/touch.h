// Who touches which bytes of device memory, and whether anything orders them: happens-before over streams, events and
// what the host has waited for. Under a Ledger.
//
// What the threads of the host order between themselves cannot be seen from here, so a wait of any thread counts for
// all: never a false alarm, and a race may be missed when another thread happened to wait in between.
#pragma once

#include "fakes/cuda/state.h"

namespace framelane::fake_cuda {

[[nodiscard]] std::shared_ptr<Allocation> allocation_at(uint64_t address);  // nullptr: none is live there
[[nodiscard]] bool is_device_address(uint64_t address);                     // live or not

// The live memory around an address: its block where the allocation is kept in blocks. Length 0: none is live there.
struct Extent {
  uint64_t begin = 0;
  size_t bytes = 0;
};
[[nodiscard]] Extent extent_at(uint64_t address);

// False: a copy from or to host memory that was pinned and has gone since (a graph's; it cannot run).
[[nodiscard]] bool has_its_host_memory(const Work& work);
// Reports what is wrong with these touches by a work on this lane, with this clock, and remembers them.
void check_touches(const Work& work, uint64_t lane, const Clock& clock);

}  // namespace framelane::fake_cuda
