// Where those who have connected wait until they have said who they are.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/frame.h"
#include "io/shm/listener.h"
#include "io/shm/messages.h"
#include "io/shm/unique_fd.h"

namespace framelane::io::shm {

// Hears all of them side by side, so that those who connect and say nothing delay nobody. Never blocks.
// Thread-safety: one thread at a time.
class Lobby {
 public:
  static constexpr size_t kPlaces = 16;

  struct Guest {
    UniqueFd socket;
    Hello hello;
  };

  // `role`: whose HELLO is expected. `patience_ns`: how long a connection may say nothing.
  Lobby(uint32_t role, int64_t patience_ns) noexcept : role_(role), patience_ns_(patience_ns) {}

  // Lets in who waits at the door. When there is no place left, who has been silent longest is turned away.
  void admit(Listener& listener) noexcept;
  // The first, by time of arrival, who has said a HELLO that can be served. Refuses who said something else, or nothing
  // for too long.
  [[nodiscard]] std::optional<Guest> greet();
  // The caller serves one who is not in here any more: the others go.
  void turn_all_away(const std::string& why) noexcept;
  void clear() noexcept;

  // Fills one entry for each place; poll() skips those of empty places.
  void watch(std::span<pollfd, kPlaces> fds) const noexcept;
  // For poll(): until `latest_ns`, or until greet() has to be called because somebody has been silent for too long.
  [[nodiscard]] int timeout_ms(MonotonicNs latest_ns) const noexcept;
  [[nodiscard]] const std::string& last_refusal() const noexcept { return last_refusal_; }

 private:
  // In the order of their arrival.
  struct Place {
    UniqueFd socket;
    MonotonicNs speak_by_ns = 0;
  };

  void leave(size_t place) noexcept;
  void refuse_malformed(size_t place, std::string why);

  const uint32_t role_;
  const int64_t patience_ns_;
  std::array<Place, kPlaces> places_;
  size_t count_ = 0;
  std::string last_refusal_;
};

}  // namespace framelane::io::shm
