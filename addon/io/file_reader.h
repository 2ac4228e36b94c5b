// A regular file, read at offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "io/shm/unique_fd.h"

namespace framelane::io {

// Thread-safety: owned by a source; used by one thread at a time.
class FileReader {
 public:
  // source_unavailable where it is not there, no regular file, or may not be read.
  Status open(const std::string& path);
  void close() noexcept { fd_.reset(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] Result<uint64_t> size_bytes() const;  // now: the file may still grow
  // Bytes read: fewer than asked for only at the end of the file. source_lost where reading fails.
  [[nodiscard]] Result<size_t> read_at(uint64_t offset, std::byte* to, size_t size_bytes) const;

 private:
  std::string path_;
  UniqueFd fd_;
};

}  // namespace framelane::io
