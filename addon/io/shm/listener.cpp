#include "io/shm/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "io/shm/unique_fd.h"

namespace framelane::io {
namespace {

constexpr int kBacklog = 16;
constexpr mode_t kMode = 0660;

struct Address {
  sockaddr_un value{};
  socklen_t length = 0;
};

Address address_of(const std::string& path) noexcept {
  Address address;
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path, path.data(), path.size());
  if (path.front() == '@') address.value.sun_path[0] = '\0';
  // An abstract name is as long as it is given; a path carries its NUL.
  const size_t terminator = path.front() == '@' ? 0 : 1;
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + terminator);
  return address;
}

const sockaddr* generic(const Address& address) noexcept {
  return reinterpret_cast<const sockaddr*>(&address.value);
}

UniqueFd new_socket() noexcept {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Clears the way for bind(): a socket file without a listener goes, everything else is an error.
Status remove_stale(const std::string& path, const Address& address) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return Error{ErrorCode::source_unavailable, with_errno(path, errno)};
  }
  if (!S_ISSOCK(info.st_mode)) return Error{ErrorCode::invalid_argument, path + " is there already and is no socket"};
  const UniqueFd probe = new_socket();
  if (::connect(probe.get(), generic(address), address.length) == 0 || errno != ECONNREFUSED)
    return Error{ErrorCode::source_unavailable, path + " is in use by another process or channel"};
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return Error{ErrorCode::source_unavailable, with_errno("removing the old socket " + path, errno)};
  return {};
}

Status bind_path(int fd, const std::string& path, const Address& address) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  // Two engines that find the same stale file take turns.
  const UniqueFd lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return Error{ErrorCode::source_unavailable, with_errno(folder.string(), errno)};
  while (::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  if (Status cleared = remove_stale(path, address); !cleared) return cleared;
  // The mode before bind() is what the file is created with (less the umask), so it is never wider than meant.
  if (::fchmod(fd, kMode) != 0 || ::bind(fd, generic(address), address.length) != 0 ||
      ::chmod(path.c_str(), kMode) != 0)
    return Error{ErrorCode::source_unavailable, with_errno("socket " + path, errno)};
  return {};
}

bool same_user(int fd) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

}  // namespace

Status check_socket_path(const std::string& path) {
  const size_t most = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path == "@") return Error{ErrorCode::invalid_argument, "a shm path must not be empty"};
  if (path.size() > most)
    return Error{ErrorCode::invalid_argument, "a shm path has at most " + std::to_string(most) +
                                                  " bytes, this one has " + std::to_string(path.size()) + ": " + path};
  if (path.find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_argument, "a shm path must not contain a NUL byte"};
  return {};
}

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::move(other.fd_);
    path_ = std::move(other.path_);
    inode_ = other.inode_;
  }
  return *this;
}

Result<Listener> Listener::open(const std::string& path) {
  if (Status checked = check_socket_path(path); !checked) return checked.error();
  const Address address = address_of(path);
  Listener listener;
  UniqueFd fd = new_socket();
  if (!fd) return Error{ErrorCode::source_unavailable, with_errno("socket " + path, errno)};
  if (path.front() == '@') {
    if (::bind(fd.get(), generic(address), address.length) != 0) {
      if (errno == EADDRINUSE)
        return Error{ErrorCode::source_unavailable, path + " is in use by another process or channel"};
      return Error{ErrorCode::source_unavailable, with_errno("socket " + path, errno)};
    }
  } else {
    if (Status bound = bind_path(fd.get(), path, address); !bound) return bound.error();
    struct stat info{};
    if (::lstat(path.c_str(), &info) == 0) listener.inode_ = info.st_ino;
  }
  listener.fd_ = std::move(fd);
  listener.path_ = path;
  if (::listen(listener.fd(), kBacklog) != 0)
    return Error{ErrorCode::source_unavailable, with_errno("socket " + path, errno)};
  return listener;
}

std::optional<UniqueFd> Listener::accept() noexcept {
  for (int tries = 0; tries < kBacklog; ++tries) {
    UniqueFd peer(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return std::nullopt;
    }
    if (path_.front() != '@' || same_user(peer.get())) return peer;
  }
  return std::nullopt;
}

void Listener::close() noexcept {
  if (!fd_) return;
  struct stat info{};
  if (path_.front() != '@' && ::lstat(path_.c_str(), &info) == 0 && info.st_ino == inode_) ::unlink(path_.c_str());
  fd_.reset();
}

}  // namespace framelane::io
