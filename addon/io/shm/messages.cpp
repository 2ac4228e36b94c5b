#include "io/shm/messages.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "io/shm/unique_fd.h"

namespace framelane::io::shm {
namespace {

constexpr size_t kMaxFds = 2;
constexpr int kBellsPerCall = 64;

Error malformed(const std::string& what) {
  return Error{ErrorCode::source_malformed, what};
}

// The text of a fixed field; empty when it lacks its NUL or holds anything but printable ASCII.
template <size_t N>
std::optional<std::string_view> text_of(const char (&field)[N]) noexcept {
  const std::string_view whole(field, N);
  const size_t end = whole.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = whole.substr(0, end);
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; })) return std::nullopt;
  return text;
}

template <size_t N>
void set_text(char (&field)[N], std::string_view text) noexcept {
  const size_t length = std::min(text.size(), N - 1);
  std::memcpy(field, text.data(), length);
  std::memset(field + length, 0, N - length);
}

framelane_shm_header header_of(uint16_t type, uint32_t size, uint32_t role) noexcept {
  return {FRAMELANE_SHM_MAGIC, FRAMELANE_SHM_VERSION, type, size, role};
}

Result<FrameFormat> parse_format(const framelane_shm_hello& hello) {
  const auto name = text_of(hello.pixel_format);
  const auto pixel = name ? pixel_format_from_name(*name) : std::nullopt;
  if (!pixel) return malformed("unknown pixel format '" + std::string(name.value_or("?")) + "'");
  const auto side_ok = [](uint32_t side) { return side >= 1 && side <= FRAMELANE_SHM_MAX_SIDE; };
  const std::string size = std::to_string(hello.width) + "x" + std::to_string(hello.height);
  if (!side_ok(hello.width) || !side_ok(hello.height))
    return malformed("a frame of " + size + " is not between 1x1 and 65535x65535");
  const FrameFormat format = FrameFormat::packed(*pixel, hello.width, hello.height);
  if (format.bytes() > FRAMELANE_SHM_MAX_FRAME_BYTES) return malformed("a frame of " + size + " is larger than 1 GiB");
  return format;
}

}  // namespace

Result<Hello> parse_hello(std::span<const std::byte> packet, uint32_t role) {
  framelane_shm_hello hello{};
  if (packet.size() < sizeof(framelane_shm_header)) return malformed("the first message is too short");
  std::memcpy(&hello, packet.data(), std::min(packet.size(), sizeof hello));
  if (hello.header.magic != FRAMELANE_SHM_MAGIC) return malformed("the first message is no HELLO of this protocol");
  if (hello.header.version != FRAMELANE_SHM_VERSION)
    return malformed("protocol version " + std::to_string(hello.header.version) + " is not spoken here, 1 is");
  if (hello.header.type != FRAMELANE_SHM_HELLO) return malformed("the first message must be HELLO");
  if (packet.size() < sizeof hello || hello.header.size != packet.size()) return malformed("HELLO has the wrong size");
  if (hello.header.role != role)
    return malformed(role == FRAMELANE_SHM_PRODUCER ? "this socket takes producers only"
                                                    : "this socket serves readers only");
  if (hello.flags != 0) return malformed("HELLO has flags that version 1 does not know");
  const auto client = text_of(hello.client);
  if (!client) return malformed("HELLO's client name is not printable text");
  Hello parsed;
  parsed.client = *client;
  if (role == FRAMELANE_SHM_READER) return parsed;
  Result<FrameFormat> format = parse_format(hello);
  if (!format) return format.error();
  parsed.format = format.value();
  parsed.fps = std::min(hello.fps_milli, 1'000'000'000U) / 1000.0;
  return parsed;
}

framelane_shm_welcome welcome_for(const FrameFormat& format, uint32_t role) noexcept {
  framelane_shm_welcome message{};
  message.header = header_of(FRAMELANE_SHM_WELCOME, sizeof message, role);
  set_text(message.pixel_format, info(format.pixel).name);
  message.width = format.width;
  message.height = format.height;
  message.row_stride_bytes = format.row_stride_bytes;
  message.plane_stride_bytes = format.plane_stride_bytes;
  message.frame_bytes = format.bytes();
  return message;
}

Status send_welcome(int socket, const framelane_shm_welcome& message, std::initializer_list<int> fds) {
  iovec part{const_cast<framelane_shm_welcome*>(&message), sizeof message};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control.data();
  packet.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&packet);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(rights), fds.begin(), fds.size() * sizeof(int));
  if (::sendmsg(socket, &packet, MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(sizeof message))
    return Error{ErrorCode::source_lost, with_errno("the peer went away before it was welcomed", errno)};
  return {};
}

void refuse(int socket, uint32_t role, uint32_t reason, const std::string& text) noexcept {
  framelane_shm_refused message{};
  message.header = header_of(FRAMELANE_SHM_REFUSED, sizeof message, role);
  message.reason = reason;
  set_text(message.text, text);
  static_cast<void>(::send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT));
  // Unread packets at close() would reach the peer as a reset, before our sentence.
  std::array<std::byte, FRAMELANE_SHM_MESSAGE_BYTES> unread;
  for (int i = 0; i < kBellsPerCall && receive_packet(socket, unread) > 0; ++i) {
  }
}

void ring_bell(int socket) noexcept {
  const char bell = 1;
  static_cast<void>(::send(socket, &bell, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
}

Bells take_bells(int socket) noexcept {
  std::array<std::byte, 2> bell;
  for (int i = 0; i < kBellsPerCall; ++i) {
    const ssize_t size = receive_packet(socket, bell);
    if (size < 0) return i == 0 ? Bells::none : Bells::rung;
    if (size == 0) return Bells::hung_up;
    if (size != 1) return Bells::unexpected;
  }
  return Bells::rung;
}

ssize_t receive_packet(int socket, std::span<std::byte> into) noexcept {
  for (;;) {
    const ssize_t size = ::recv(socket, into.data(), into.size(), MSG_DONTWAIT);
    if (size >= 0) return size;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : 0;
  }
}

}  // namespace framelane::io::shm
