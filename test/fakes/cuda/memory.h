// Device and host memory as the fake keeps them. Under a Ledger.
#pragma once

#include "fakes/cuda/state.h"

namespace framelane::fake_cuda {

// Device addresses begin here: no address of the host is like this, so one cannot be taken for the other.
inline constexpr uint64_t kDeviceSpace = 0x00fd'0000'0000'0000;

void annotate_block(uint64_t begin, size_t bytes, bool given, uint64_t stream_id);
// Of a context that ends, or of all (nullptr).
void drop_memory(CUcontext context);
void drop_host_memory();

// What a copy may do with a range of host memory.
enum class HostMemory : uint8_t { pinned, pageable, refused };
[[nodiscard]] HostMemory host_memory(const void* begin, size_t bytes);

}  // namespace framelane::fake_cuda
