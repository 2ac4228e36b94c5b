// What Node lacks and the supervisor needs: Unix datagrams and file locks. No Halide, no CUDA.
#include <fcntl.h>
#include <napi.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace {

[[nodiscard]] Napi::Error system_error(Napi::Env env, const std::string& what, int number) {
  Napi::Error error = Napi::Error::New(env, what + ": " + std::strerror(number));
  error.Set("code", "io_failed");
  return error;
}

// sendDatagram(path, message): one datagram; "@" in front means the abstract namespace.
void send_datagram(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const std::string message = info[1].As<Napi::String>();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    throw Napi::RangeError::New(info.Env(), "a socket path has 1 to 107 bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());

  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw system_error(info.Env(), "socket", errno);
  const ssize_t sent = ::sendto(fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&address), length);
  const int number = errno;
  ::close(fd);
  if (sent != static_cast<ssize_t>(message.size())) throw system_error(info.Env(), "cannot send to " + path, number);
}

// lockFile(path): creates the file if need be. The descriptor stays open on purpose: the kernel gives
// the lock back when the process ends.
Napi::Value lock_file(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw system_error(info.Env(), "cannot open " + path, errno);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return Napi::Boolean::New(info.Env(), true);
  const int number = errno;
  ::close(fd);
  if (number == EWOULDBLOCK) return Napi::Boolean::New(info.Env(), false);
  throw system_error(info.Env(), "cannot lock " + path, number);
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("sendDatagram", Napi::Function::New(env, send_datagram, "sendDatagram"));
  exports.Set("lockFile", Napi::Function::New(env, lock_file, "lockFile"));
  return exports;
}

}  // namespace

NODE_API_MODULE(framelane_system, initialise)
