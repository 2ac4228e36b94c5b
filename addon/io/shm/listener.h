// The Unix-domain socket at which the engine meets producers and readers.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "io/shm/unique_fd.h"

namespace framelane::io {

// Whether `path` can be a socket's address: not empty, at most 107 bytes. A leading '@' means the abstract namespace.
[[nodiscard]] Status check_socket_path(const std::string& path);

// A listening SOCK_SEQPACKET socket with mode 0660. An abstract address has no mode: there only processes of
// the engine's own user, or of root, are served.
// Thread-safety: owned by one source or sink, which says on which thread it is used.
class Listener {
 public:
  Listener() = default;
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener() { close(); }

  // Replaces a socket file that nobody listens on; never another kind of file.
  [[nodiscard]] static Result<Listener> open(const std::string& path);

  // Never blocks. Empty: nobody waits. Peers that may not be served are turned away.
  [[nodiscard]] std::optional<UniqueFd> accept() noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] bool is_open() const noexcept { return fd_.get() >= 0; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void close() noexcept;  // removes the socket file

 private:
  UniqueFd fd_;
  std::string path_;
  uint64_t inode_ = 0;  // of the socket file: one that somebody else put there since is left alone
};

}  // namespace framelane::io
