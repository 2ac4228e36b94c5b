// Memory that can be shared with another process and cannot change its size under us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"

namespace framelane {

// What a process that is given the descriptor may do with the memory.
enum class PeerAccess : uint8_t { read_write, read_only };

// A sealed memfd (F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL; F_SEAL_FUTURE_WRITE when read-only for peers), mapped and
// backed by pages from the start: a frame's path never meets a page fault of a fresh page, and a refusal comes here and
// not as a signal later. Thread-safety: owned by one holder; the accessors may be called from any thread while it
// lives.
class SharedMapping {
 public:
  SharedMapping() = default;
  ~SharedMapping();
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;

  // `purpose` is the memfd's name and stands in messages: "ring of press-left".
  // `numa_node`: where its pages are to lie as long as there is room; -1: anywhere.
  [[nodiscard]] static Result<SharedMapping> create(const std::string& purpose, size_t size_bytes,
                                                    PeerAccess access = PeerAccess::read_write, int numa_node = -1);

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] size_t size_bytes() const noexcept { return size_bytes_; }

 private:
  void reset() noexcept;

  int fd_ = -1;
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

// Pages for all of a writable mapping, and their end. Both go a little at a time: while the kernel fills or empties a
// range it keeps every other thread from changing the process's address space, and then from page-locking memory, which
// the GPU's driver does under the lock that copies need. (In one step, 25 MB kept copies waiting for 20 to 70 ms.)
void populate(std::byte* data, size_t size_bytes) noexcept;
void unmap(std::byte* data, size_t size_bytes) noexcept;

[[nodiscard]] size_t page_bytes() noexcept;
[[nodiscard]] size_t round_up_to_page(size_t size_bytes) noexcept;

// What this process may still take: the machine's MemAvailable or what its control group leaves, the less.
[[nodiscard]] uint64_t available_memory_bytes() noexcept;

[[nodiscard]] std::string describe_bytes(uint64_t bytes);  // "12.5 MiB"

}  // namespace framelane
