#include "io/sinks/pending_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "io/sinks/file_path.h"

namespace framelane::io {
namespace {

constexpr mode_t kMode = 0644;                     // less the process's umask
constexpr off_t kWriteBackBytes = off_t{8} << 20;  // so that the last sync has little left to do
constexpr int64_t kLookEveryNs = 1'000'000'000;    // at the name of the file that is written
constexpr int kLockAttempts = 16;                  // against others that create and rename the same name

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The descriptor still is what the name leads to.
bool same_file(int fd, const std::string& path) noexcept {
  struct stat by_fd{};
  struct stat by_name{};
  return ::fstat(fd, &by_fd) == 0 && ::lstat(path.c_str(), &by_name) == 0 && by_fd.st_ino == by_name.st_ino &&
         by_fd.st_dev == by_name.st_dev;
}

}  // namespace

Error PendingFile::failed(const std::string& what, int error_number) const {
  return Error{ErrorCode::sink_failed, with_errno(what, error_number)};
}

Status PendingFile::create(const std::string& path, const std::string& keep_as, size_t header_bytes) {
  abandon();
  path_ = path;
  temporary_ = temporary_name(path);
  size_ = 0;
  written_back_ = 0;
  struct stat existing{};
  if (::stat(path.c_str(), &existing) == 0) {
    if (S_ISDIR(existing.st_mode)) return Error{ErrorCode::sink_failed, "cannot write " + path + ": it is a directory"};
    if (!S_ISREG(existing.st_mode))
      return Error{ErrorCode::sink_failed, "cannot write " + path + ": it is there and no regular file"};
  }
  return lock_new(keep_as, header_bytes);
}

Status PendingFile::lock_new(const std::string& keep_as, size_t header_bytes) {
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    UniqueFd fd(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kMode));
    if (!fd) return failed("cannot create " + temporary_, errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return failed("cannot lock " + temporary_, errno);
      return Error{ErrorCode::sink_failed, "cannot write " + path_ + ": another sink is writing " + temporary_};
    }
    if (!same_file(fd.get(), temporary_)) continue;
    struct stat left{};
    if (::fstat(fd.get(), &left) != 0) return failed("cannot inspect " + temporary_, errno);
    if (!S_ISREG(left.st_mode)) return Error{ErrorCode::sink_failed, temporary_ + " is there and no regular file"};
    if (!keep_as.empty() && left.st_size > static_cast<off_t>(header_bytes)) {
      if (::rename(temporary_.c_str(), keep_as.c_str()) != 0)
        return failed("cannot keep " + temporary_ + " as " + keep_as, errno);
      continue;
    }
    if (::ftruncate(fd.get(), 0) != 0) return failed("cannot empty " + temporary_, errno);
    fd_ = std::move(fd);
    looked_ns_ = monotonic_now_ns();
    return {};
  }
  return Error{ErrorCode::sink_failed, "cannot write " + path_ + ": others keep renaming " + temporary_};
}

Status PendingFile::append(const std::byte* data, size_t size_bytes) {
  size_t done = 0;
  while (done < size_bytes) {
    const ssize_t wrote = ::pwrite(fd_.get(), data + done, size_bytes - done, size_ + static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return failed("cannot write to " + temporary_, errno);
    if (wrote == 0) return failed("cannot write to " + temporary_, ENOSPC);
    done += static_cast<size_t>(wrote);
  }
  size_ += static_cast<off_t>(size_bytes);
  if (size_ - written_back_ >= kWriteBackBytes) {
    // Only a hint; where it fails the last sync has more to do.
    (void)::sync_file_range(fd_.get(), written_back_, size_ - written_back_, SYNC_FILE_RANGE_WRITE);
    written_back_ = size_;
  }
  return {};
}

Status PendingFile::check_name() {
  const MonotonicNs now_ns = monotonic_now_ns();
  if (now_ns - looked_ns_ < kLookEveryNs) return {};
  looked_ns_ = now_ns;
  if (same_file(fd_.get(), temporary_)) return {};
  return Error{ErrorCode::sink_failed, "cannot write " + path_ + ": " + temporary_ + " was moved or removed"};
}

void PendingFile::cut_to(off_t size) noexcept {
  if (::ftruncate(fd_.get(), size) == 0) size_ = size;
  written_back_ = std::min(written_back_, size_);
}

Status PendingFile::commit(Durable durable) {
  if (!fd_) return {};
  if (!same_file(fd_.get(), temporary_)) {
    fd_.reset();
    return Error{ErrorCode::sink_failed, "cannot complete " + path_ + ": " + temporary_ + " was moved or removed"};
  }
  if (durable == Durable::yes && ::fdatasync(fd_.get()) != 0) {
    const Error error = failed("cannot write " + temporary_ + " to the disk", errno);
    fd_.reset();  // stays as .part: what is in it may be whole
    return error;
  }
  const int renamed = ::rename(temporary_.c_str(), path_.c_str());
  const int error_number = errno;
  fd_.reset();
  if (renamed != 0) return failed("cannot rename " + temporary_ + " to " + path_, error_number);
  if (durable == Durable::no) return {};
  const UniqueFd directory(::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A file system without fsync for directories (EINVAL) has nothing more to offer.
  if (directory && ::fsync(directory.get()) != 0 && errno != EINVAL)
    return failed("cannot write the name " + path_ + " to the disk", errno);
  return {};
}

void PendingFile::abandon() noexcept {
  if (!fd_) return;
  if (same_file(fd_.get(), temporary_)) ::unlink(temporary_.c_str());
  fd_.reset();
}

}  // namespace framelane::io
