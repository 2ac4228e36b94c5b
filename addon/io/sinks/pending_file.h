// A file that has its name only once it is complete.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/frame.h"
#include "io/shm/unique_fd.h"

namespace framelane::io {

// Written as "PATH.part" in the same directory, renamed on commit(). The .part file is locked (flock) while it
// is written: one that is there and not locked was left by a process that died.
// Thread-safety: owned by a sink, used on the sink's thread.
class PendingFile {
 public:
  enum class Durable : uint8_t { no, yes };

  PendingFile() = default;
  ~PendingFile() { abandon(); }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // Creates PATH.part, or empties one that nobody writes any more. Refuses where PATH is there, or another sink
  // writes it.
  Status create(const std::string& path);
  // Renames PATH.part to `keep_as` where a process that died left it with more than `header_bytes` in it.
  static Status recover(const std::string& path, const std::string& keep_as, size_t header_bytes);
  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(fd_); }

  Status append(const std::byte* data, size_t size_bytes);
  // Whether PATH.part still leads to this file; looks once a second at most. What is written to a file that was
  // moved or removed is lost without any error.
  [[nodiscard]] Status check_name();
  [[nodiscard]] off_t size() const noexcept { return size_; }
  void cut_to(off_t size) noexcept;  // takes back what a failed append() left

  // Gives the file its name, unless something is called so by now: that is an error and the .part file stays. With
  // Durable::yes both are on the disk when it returns.
  Status commit(Durable durable);
  void abandon() noexcept;  // removes the .part file; does nothing after commit()

 private:
  UniqueFd fd_;
  std::string path_;
  std::string temporary_;
  MonotonicNs looked_ns_ = 0;
  off_t size_ = 0;
  off_t written_back_ = 0;  // up to here the kernel was told to write to the disk
};

}  // namespace framelane::io
