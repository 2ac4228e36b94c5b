#include "io/shm/reader_hub.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "io/shm/messages.h"

namespace framelane::io::shm {
namespace {

constexpr int64_t kHelloNs = 1'000'000'000;
constexpr int64_t kNsPerMs = 1'000'000;

}  // namespace

Status ReaderHub::open(const std::string& path, const framelane_shm_welcome& welcome, int fd) {
  Result<Listener> listener = Listener::open(path);
  if (!listener) return Error{ErrorCode::sink_failed, listener.error().message};
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return Error{ErrorCode::sink_failed, with_errno("eventfd", errno)};
  listener_ = listener.take();
  welcome_ = welcome;
  fd_ = fd;
  closing_.store(false, std::memory_order_relaxed);
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& error) {
    listener_.close();
    return Error{ErrorCode::sink_failed, std::string("no thread for the readers: ") + error.what()};
  }
  pthread_setname_np(thread_.native_handle(), "shm-readers");
  return {};
}

void ReaderHub::close() noexcept {
  if (!thread_.joinable()) return;
  closing_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
  thread_.join();
  for (Place& place : places_) vacate(place);
  listener_.close();
}

void ReaderHub::ring_bells() noexcept {
  const std::lock_guard lock(mutex_);
  for (const Place& place : places_) {
    if (place.welcomed) ring_bell(place.socket.get());
  }
}

void ReaderHub::vacate(Place& place) noexcept {
  const std::lock_guard lock(mutex_);
  place.socket.reset();
  place.welcomed = false;
}

void ReaderHub::serve() noexcept {
  std::array<pollfd, FRAMELANE_SHM_MAX_READERS + 2> fds;
  while (!closing_.load(std::memory_order_acquire)) {
    const int timeout_ms = drop_silent();
    // An empty place is -1, which poll() skips.
    for (size_t i = 0; i < places_.size(); ++i) fds[i] = {places_[i].socket.get(), POLLIN, 0};
    fds[places_.size()] = {listener_.fd(), POLLIN, 0};
    fds[places_.size() + 1] = {wake_.get(), POLLIN, 0};
    if (::poll(fds.data(), fds.size(), timeout_ms) < 0) continue;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (fds[i].revents != 0) hear(places_[i]);
    }
    if (fds[places_.size()].revents != 0) accept_one();
  }
}

// Milliseconds until the next one must have spoken; -1: all have.
int ReaderHub::drop_silent() noexcept {
  const MonotonicNs now = monotonic_now_ns();
  int64_t next_ns = -1;
  for (Place& place : places_) {
    if (!place.socket || place.welcomed) continue;
    if (place.hello_by_ns <= now) {
      refuse(place.socket.get(), FRAMELANE_SHM_READER, FRAMELANE_SHM_MALFORMED, "no HELLO came in time");
      vacate(place);
    } else {
      next_ns = next_ns < 0 ? place.hello_by_ns - now : std::min(next_ns, place.hello_by_ns - now);
    }
  }
  return next_ns < 0 ? -1 : static_cast<int>((next_ns + kNsPerMs - 1) / kNsPerMs);
}

void ReaderHub::accept_one() noexcept {
  std::optional<UniqueFd> socket = listener_.accept();
  if (!socket) return;
  const auto place = std::find_if(places_.begin(), places_.end(), [](const Place& p) { return !p.socket; });
  if (place == places_.end()) {
    refuse(socket->get(), FRAMELANE_SHM_READER, FRAMELANE_SHM_BUSY, "all places for readers are taken");
    return;
  }
  const std::lock_guard lock(mutex_);
  place->socket = std::move(*socket);
  place->hello_by_ns = monotonic_now_ns() + kHelloNs;
}

void ReaderHub::hear(Place& place) noexcept {
  if (place.welcomed) {
    // A reader has nothing to say; a bell more or less does not matter.
    const Bells bells = take_bells(place.socket.get());
    if (bells == Bells::hung_up || bells == Bells::unexpected) vacate(place);
    return;
  }
  if (!greet(place)) vacate(place);
}

bool ReaderHub::greet(Place& place) noexcept {
  const int socket = place.socket.get();
  std::array<std::byte, FRAMELANE_SHM_MESSAGE_BYTES> packet;
  const ssize_t size = receive_packet(socket, packet);
  if (size <= 0) return false;
  const Result<Hello> hello = parse_hello(std::span(packet).first(static_cast<size_t>(size)), FRAMELANE_SHM_READER);
  if (!hello) {
    refuse(socket, FRAMELANE_SHM_READER, FRAMELANE_SHM_MALFORMED, hello.error().message);
    return false;
  }
  // Together: no bell may ring before the WELCOME, and none may be missed after it.
  const std::lock_guard lock(mutex_);
  place.welcomed = send_welcome(socket, welcome_, {fd_}).ok();
  return place.welcomed;
}

}  // namespace framelane::io::shm
