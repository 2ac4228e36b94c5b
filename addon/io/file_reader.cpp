#include "io/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace framelane::io {

Status FileReader::open(const std::string& path) {
  path_ = path;
  // O_NONBLOCK: a named pipe must not hold the thread up before it is refused.
  fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd_) return Error{ErrorCode::source_unavailable, with_errno("cannot open " + path, errno)};
  struct stat found{};
  if (::fstat(fd_.get(), &found) != 0)
    return Error{ErrorCode::source_unavailable, with_errno("cannot inspect " + path, errno)};
  if (!S_ISREG(found.st_mode)) {
    fd_.reset();
    return Error{ErrorCode::source_unavailable,
                 "cannot play " + path + ": it is " + (S_ISDIR(found.st_mode) ? "a directory" : "no regular file")};
  }
  (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return {};
}

Result<uint64_t> FileReader::size_bytes() const {
  struct stat found{};
  if (::fstat(fd_.get(), &found) != 0)
    return Error{ErrorCode::source_lost, with_errno("cannot inspect " + path_, errno)};
  return static_cast<uint64_t>(found.st_size);
}

Result<size_t> FileReader::read_at(uint64_t offset, std::byte* to, size_t size_bytes) const {
  size_t done = 0;
  while (done < size_bytes) {
    const ssize_t got = ::pread(fd_.get(), to + done, size_bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Error{ErrorCode::source_lost,
                   with_errno("cannot read " + path_ + " at byte " + std::to_string(offset + done), errno)};
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace framelane::io
