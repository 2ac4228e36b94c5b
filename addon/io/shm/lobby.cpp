#include "io/shm/lobby.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "core/signal.h"
#include "framelane/shm_layout.h"

namespace framelane::io::shm {

void Lobby::leave(size_t place) noexcept {
  std::move(places_.begin() + static_cast<std::ptrdiff_t>(place) + 1,
            places_.begin() + static_cast<std::ptrdiff_t>(count_),
            places_.begin() + static_cast<std::ptrdiff_t>(place));
  places_[--count_].socket.reset();
}

void Lobby::admit(Listener& listener) noexcept {
  for (size_t admitted = 0; admitted < kPlaces; ++admitted) {
    std::optional<UniqueFd> socket = listener.accept();
    if (!socket) return;
    if (count_ == kPlaces) {
      refuse(places_[0].socket.get(), role_, FRAMELANE_SHM_BUSY, "others have connected meanwhile");
      leave(0);
    }
    places_[count_++] = {std::move(*socket), monotonic_now_ns() + patience_ns_};
  }
}

void Lobby::refuse_malformed(size_t place, std::string why) {
  refuse(places_[place].socket.get(), role_, FRAMELANE_SHM_MALFORMED, why);
  last_refusal_ = std::move(why);
  leave(place);
}

std::optional<Lobby::Guest> Lobby::greet() {
  const MonotonicNs now = monotonic_now_ns();
  std::array<std::byte, FRAMELANE_SHM_MESSAGE_BYTES> packet;
  for (size_t i = 0; i < count_;) {
    const ssize_t size = receive_packet(places_[i].socket.get(), packet);
    if (size < 0 && places_[i].speak_by_ns > now) {
      ++i;
    } else if (size < 0) {
      refuse_malformed(i, "no HELLO came in time");
    } else if (size == 0) {
      last_refusal_ = "it left without a HELLO";
      leave(i);
    } else if (Result<Hello> hello = parse_hello(std::span(packet).first(static_cast<size_t>(size)), role_); !hello) {
      refuse_malformed(i, hello.error().message);
    } else {
      Guest guest{std::move(places_[i].socket), hello.take()};
      leave(i);
      return guest;
    }
  }
  return std::nullopt;
}

void Lobby::turn_all_away(const std::string& why) noexcept {
  for (size_t i = 0; i < count_; ++i) refuse(places_[i].socket.get(), role_, FRAMELANE_SHM_BUSY, why);
  clear();
}

void Lobby::clear() noexcept {
  for (size_t i = 0; i < count_; ++i) places_[i].socket.reset();
  count_ = 0;
}

void Lobby::watch(std::span<pollfd, kPlaces> fds) const noexcept {
  for (size_t i = 0; i < kPlaces; ++i) fds[i] = {places_[i].socket.get(), POLLIN, 0};
}

int Lobby::timeout_ms(MonotonicNs latest_ns) const noexcept {
  constexpr int64_t kNsPerMs = 1'000'000;
  const MonotonicNs due_ns = count_ == 0 ? latest_ns : std::min(latest_ns, places_[0].speak_by_ns);
  if (due_ns == kNoDeadline) return -1;
  const int64_t left_ns = std::max<int64_t>(0, due_ns - monotonic_now_ns());
  return static_cast<int>(std::min<int64_t>((left_ns + kNsPerMs - 1) / kNsPerMs, INT_MAX));
}

}  // namespace framelane::io::shm
