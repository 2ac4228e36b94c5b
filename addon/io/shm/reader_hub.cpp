#include "io/shm/reader_hub.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "core/signal.h"
#include "io/shm/messages.h"

namespace framelane::io::shm {

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
  for (UniqueFd& place : places_) vacate(place);
  lobby_.clear();
  listener_.close();
}

void ReaderHub::ring_bells() noexcept {
  const std::lock_guard lock(mutex_);
  for (const UniqueFd& place : places_) {
    if (place) ring_bell(place.get());
  }
}

void ReaderHub::vacate(UniqueFd& place) noexcept {
  const std::lock_guard lock(mutex_);
  place.reset();
}

void ReaderHub::serve() noexcept {
  // Readers, those in the lobby, the door, and whoever closes the hub. An empty place is -1, which poll() skips.
  constexpr size_t kLobby = FRAMELANE_SHM_MAX_READERS;
  constexpr size_t kDoor = kLobby + Lobby::kPlaces;
  std::array<pollfd, kDoor + 2> fds;
  while (!closing_.load(std::memory_order_acquire)) {
    for (size_t i = 0; i < places_.size(); ++i) fds[i] = {places_[i].get(), POLLIN, 0};
    lobby_.watch(std::span(fds).subspan<kLobby, Lobby::kPlaces>());
    fds[kDoor] = {listener_.fd(), POLLIN, 0};
    fds[kDoor + 1] = {wake_.get(), POLLIN, 0};
    if (::poll(fds.data(), fds.size(), lobby_.timeout_ms(kNoDeadline)) < 0) continue;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (fds[i].revents != 0) hear(places_[i]);
    }
    if (fds[kDoor].revents != 0) lobby_.admit(listener_);
    greet();
  }
}

void ReaderHub::greet() noexcept {
  while (std::optional<Lobby::Guest> guest = lobby_.greet()) {
    // Together: no bell may ring before the WELCOME, and none may be missed after it.
    const std::lock_guard lock(mutex_);
    const auto place = std::find_if(places_.begin(), places_.end(), [](const UniqueFd& fd) { return !fd; });
    if (place == places_.end()) {
      refuse(guest->socket.get(), FRAMELANE_SHM_READER, FRAMELANE_SHM_BUSY, "all places for readers are taken");
    } else if (send_welcome(guest->socket.get(), welcome_, {fd_})) {
      *place = std::move(guest->socket);
    }
  }
}

void ReaderHub::hear(UniqueFd& place) noexcept {
  // A reader has nothing to say; a bell more or less does not matter.
  const Bells bells = take_bells(place.get());
  if (bells == Bells::hung_up || bells == Bells::unexpected) vacate(place);
}

}  // namespace framelane::io::shm
