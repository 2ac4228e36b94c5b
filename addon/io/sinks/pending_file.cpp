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

constexpr mode_t kMode = 0644;  // less the process's umask
constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
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

// As rename(), but a file that is there by the new name stays. Some file systems cannot do that in one step.
int rename_to_free(const std::string& from, const std::string& to) noexcept {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  struct stat there{};
  if (::lstat(to.c_str(), &there) == 0) {
    errno = EEXIST;
    return -1;
  }
  return errno == ENOENT ? ::rename(from.c_str(), to.c_str()) : -1;
}

enum class Lock : uint8_t { ours, taken, moved };

Error failed(const std::string& what, int error_number) {
  return Error{ErrorCode::sink_failed, with_errno(what, error_number)};
}

// Locks a file that was opened by this name; `moved`: the name leads elsewhere by now.
Result<Lock> lock(int fd, const std::string& name) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed("cannot lock " + name, errno);
    return Lock::taken;
  }
  if (!same_file(fd, name)) return Lock::moved;
  struct stat found{};
  if (::fstat(fd, &found) != 0) return failed("cannot inspect " + name, errno);
  if (!S_ISREG(found.st_mode)) return Error{ErrorCode::sink_failed, name + " is there and no regular file"};
  return Lock::ours;
}

}  // namespace

Status PendingFile::create(const std::string& path) {
  abandon();
  path_ = path;
  temporary_ = temporary_name(path);
  size_ = 0;
  written_back_ = 0;
  struct stat existing{};
  if (::stat(path.c_str(), &existing) == 0) {
    const char* what = S_ISDIR(existing.st_mode)   ? "it is a directory"
                       : S_ISREG(existing.st_mode) ? "it is there already"
                                                   : "it is there and no regular file";
    return Error{ErrorCode::sink_failed, "cannot write " + path + ": " + what};
  }
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    UniqueFd fd(::open(temporary_.c_str(), O_RDWR | O_CREAT | kOpenFlags, kMode));
    if (!fd) return failed("cannot create " + temporary_, errno);
    const Result<Lock> locked = lock(fd.get(), temporary_);
    if (!locked) return locked.error();
    if (locked.value() == Lock::moved) continue;
    if (locked.value() == Lock::taken)
      return Error{ErrorCode::sink_failed, "cannot write " + path_ + ": another sink is writing " + temporary_};
    if (::ftruncate(fd.get(), 0) != 0) return failed("cannot empty " + temporary_, errno);
    fd_ = std::move(fd);
    looked_ns_ = monotonic_now_ns();
    return {};
  }
  return Error{ErrorCode::sink_failed, "cannot write " + path_ + ": others keep renaming " + temporary_};
}

Status PendingFile::recover(const std::string& path, const std::string& keep_as, size_t header_bytes) {
  const std::string temporary = temporary_name(path);
  struct stat left{};
  if (::lstat(temporary.c_str(), &left) != 0 || left.st_size <= static_cast<off_t>(header_bytes)) return {};
  const UniqueFd fd(::open(temporary.c_str(), O_RDWR | kOpenFlags));
  if (!fd) return errno == ENOENT ? Status() : failed("cannot open " + temporary, errno);
  const Result<Lock> locked = lock(fd.get(), temporary);
  if (!locked) return locked.error();
  if (locked.value() != Lock::ours) return {};
  if (rename_to_free(temporary, keep_as) != 0) return failed("cannot keep " + temporary + " as " + keep_as, errno);
  return {};
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
  const int renamed = rename_to_free(temporary_, path_);
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
