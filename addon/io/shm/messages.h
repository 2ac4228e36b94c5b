// The messages of include/framelane/shm_layout.h, on the engine's side of the socket.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include "core/error.h"
#include "core/format.h"
#include "framelane/shm_layout.h"

namespace framelane::io::shm {

// A producer's HELLO, checked. Thread-safety: a value.
struct Hello {
  FrameFormat format;
  double fps = 0;      // 0: unknown
  std::string client;  // printable; empty: unnamed
};

// Any bytes are allowed in; source_malformed says in one sentence what is wrong with them.
[[nodiscard]] Result<Hello> parse_hello(std::span<const std::byte> packet, uint32_t role);

// Fills header and geometry.
[[nodiscard]] framelane_shm_welcome welcome_for(const FrameFormat& format, uint32_t role) noexcept;

// Sends the message with the descriptors. Never blocks.
[[nodiscard]] Status send_welcome(int socket, const framelane_shm_welcome& message, std::initializer_list<int> fds);

// `reason`: FRAMELANE_SHM_BUSY or _MALFORMED. Never blocks; the caller closes the socket.
void refuse(int socket, uint32_t role, uint32_t reason, const std::string& text) noexcept;

// Wakes the peer. Lost without harm when the peer has not read the earlier ones. Never blocks.
void ring_bell(int socket) noexcept;

enum class Bells : uint8_t { none, rung, hung_up, unexpected };

// Takes waiting bells, a bounded number a call. Never blocks.
[[nodiscard]] Bells take_bells(int socket) noexcept;

// One packet, if there is one: its size, 0 when the peer has hung up, -1 when nothing is there. Never blocks.
// Passed descriptors are discarded by the kernel.
[[nodiscard]] ssize_t receive_packet(int socket, std::span<std::byte> into) noexcept;

}  // namespace framelane::io::shm
