#include "io/sources/shm.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <optional>

#include "core/ring.h"
#include "io/fields.h"
#include "io/shm/listener.h"
#include "io/shm/lobby.h"
#include "io/shm/messages.h"
#include "io/shm/producer_session.h"
#include "io/source_thread.h"

namespace framelane::io {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// With every slot at the worker, the source sleeps in the ring; so often it looks whether the producer still lives.
constexpr int64_t kRingWaitNs = 20 * kNsPerMs;

// The producer is another process: it can do what it likes to the shared memory and die at any moment.
// Thread-safety: see Source. Between start() and stop() the delivering thread makes and ends sessions; what it does
// with one, and the worker in look(), each does in its turn. The worker only tries to take it, and never waits for it.
class ShmSource final : public Source {
 public:
  ShmSource(ShmSourceConfig config, UniqueFd wake)
      : config_(std::move(config)), wake_(std::move(wake)), lobby_(FRAMELANE_SHM_PRODUCER, config_.hello_timeout_ns) {}
  ~ShmSource() override {
    stop();
    close();
  }

  Result<FrameFormat> open() override;
  SourceTraits traits() const noexcept override {
    return {.live = true, .expected_fps = hello_.fps, .filled_by_peer = true};
  }
  Status announce(Ring& ring) override;
  Status start(FramePort& port) override;
  void look(FramePort& port) noexcept override;
  void stop() noexcept override;
  void close() noexcept override;
  void interrupt() noexcept override;

 private:
  enum class Woken : uint8_t { ready, timed_out, interrupted };

  Woken await_guest(MonotonicNs deadline_ns, shm::Lobby::Guest& guest);
  Status wait_for_producer();
  Status welcome();
  bool meet(FramePort& port);
  void deliver(FramePort& port);
  bool serve(FramePort& port);
  [[nodiscard]] bool lend(FramePort& port) noexcept;
  void top_up(FramePort& port) noexcept;
  void refuse_others() noexcept;
  void end(FramePort& port, const Error& error);
  void forget_wake() noexcept;
  [[nodiscard]] std::string producer_name() const;

  const ShmSourceConfig config_;
  const UniqueFd wake_;  // eventfd, readable while interrupted or stopping

  Listener listener_;
  shm::Lobby lobby_;
  shm::Hello hello_;
  UniqueFd connection_;  // has said HELLO and waits for its WELCOME
  Ring* ring_ = nullptr;
  std::mutex turn_;
  std::unique_ptr<shm::ProducerSession> session_;
  SourceThread thread_;
};

std::string ShmSource::producer_name() const {
  return "the producer" + (hello_.client.empty() ? "" : " '" + hello_.client + "'") + " at " + config_.path;
}

// Waits for a producer that has said HELLO; whoever else has connected meanwhile is told to try again.
ShmSource::Woken ShmSource::await_guest(MonotonicNs deadline_ns, shm::Lobby::Guest& guest) {
  std::array<pollfd, shm::Lobby::kPlaces + 2> fds;
  for (;;) {
    lobby_.watch(std::span(fds).first<shm::Lobby::kPlaces>());
    pollfd& door = fds[shm::Lobby::kPlaces];
    pollfd& wake = fds[shm::Lobby::kPlaces + 1];
    door = {listener_.fd(), POLLIN, 0};
    wake = {wake_.get(), POLLIN, 0};
    const int ready = ::poll(fds.data(), fds.size(), lobby_.timeout_ms(deadline_ns));
    if (ready < 0 && errno != EINTR) return Woken::timed_out;
    if (ready > 0 && wake.revents != 0) return Woken::interrupted;
    if (ready > 0 && door.revents != 0) lobby_.admit(listener_);
    if (std::optional<shm::Lobby::Guest> found = lobby_.greet()) {
      guest = std::move(*found);
      lobby_.turn_all_away("another producer is connected");
      return Woken::ready;
    }
    if (monotonic_now_ns() >= deadline_ns) return Woken::timed_out;
  }
}

Result<FrameFormat> ShmSource::open() {
  if (!listener_.is_open()) {
    Result<Listener> listener = Listener::open(config_.path);
    if (!listener) return listener.error();
    listener_ = listener.take();
  }
  Status found = wait_for_producer();
  forget_wake();
  if (!found) return found.error();
  return hello_.format;
}

Status ShmSource::wait_for_producer() {
  shm::Lobby::Guest guest;
  switch (await_guest(monotonic_now_ns() + config_.open_timeout_ns, guest)) {
    case Woken::interrupted:
      return Error{ErrorCode::source_unavailable, "waiting for a producer at " + config_.path + " was interrupted"};
    case Woken::timed_out: {
      const std::string& refusal = lobby_.last_refusal();
      return Error{ErrorCode::source_unavailable,
                   "waiting for a producer at " + config_.path +
                       (refusal.empty() ? "" : "; the last one was refused: " + refusal)};
    }
    case Woken::ready: break;
  }
  hello_ = std::move(guest.hello);
  connection_ = std::move(guest.socket);
  return {};
}

Status ShmSource::announce(Ring& ring) {
  // A producer that has mapped another ring cannot be moved to this one: it connects again.
  session_.reset();
  ring_ = &ring;
  return {};
}

Status ShmSource::welcome() {
  const shm::RingGeometry geometry{.fd = ring_->fd(),
                                   .file_bytes = ring_->mapping_bytes(),
                                   .slots_offset = static_cast<size_t>(ring_->slot_data(0) - ring_->mapping()),
                                   .slot_stride_bytes = ring_->slot_stride_bytes(),
                                   .slots = ring_->slots()};
  auto session = shm::ProducerSession::create(std::move(connection_), hello_.format, geometry);
  if (!session) return session.error();
  if (Status welcomed = session.value()->welcome(); !welcomed) return welcomed;
  const std::lock_guard turn(turn_);
  session_ = session.take();
  return {};
}

Status ShmSource::start(FramePort& port) {
  // With its slots taken back, the ring may lend them again, and this producer would write into others' frames.
  if (session_ && !session_->holds_its_slots(*ring_)) session_.reset();
  if (connection_) {
    if (Status welcomed = welcome(); !welcomed) return welcomed;
  }
  return thread_.start("shm-source", [this, &port] { deliver(port); });
}

void ShmSource::deliver(FramePort& port) {
  while (!thread_.stop_flag().requested() && !port.stopping()) {
    if (session_ ? !serve(port) : !meet(port)) return;
  }
  // What the producer has handed over until now is the channel's.
  if (!session_) return;
  const std::lock_guard turn(turn_);
  if (Status collected = session_->collect(port); !collected) end(port, collected.error());
}

// After a change of the ring its producer has to come again. False: the port has been told that none serves.
bool ShmSource::meet(FramePort& port) {
  shm::Lobby::Guest guest;
  const Woken woken = await_guest(monotonic_now_ns() + config_.open_timeout_ns, guest);
  if (woken == Woken::interrupted) return true;
  if (woken == Woken::timed_out) {
    port.failed({ErrorCode::source_lost, producer_name() + " did not come again"});
    return false;
  }
  const bool fits = guest.hello.format == hello_.format;
  hello_ = std::move(guest.hello);
  if (!fits) {
    shm::refuse(guest.socket.get(), FRAMELANE_SHM_PRODUCER, FRAMELANE_SHM_BUSY, "the channel opens for a new format");
    port.format_changed(hello_.format);
    return false;
  }
  connection_ = std::move(guest.socket);
  // One that left at once is no failure of the channel: the next one may come.
  static_cast<void>(welcome());
  return true;
}

// One round. False: the producer is gone and the port has been told.
bool ShmSource::serve(FramePort& port) {
  const bool lent = lend(port);
  std::array<pollfd, 3> fds{{{session_->socket(), POLLIN, 0}, {wake_.get(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}}};
  if (::poll(fds.data(), fds.size(), lent ? -1 : 0) < 0) return true;
  if (fds[2].revents != 0) refuse_others();
  // Bells first, then the queue: a frame that comes after the look rings again.
  const shm::Bells bells = shm::take_bells(session_->socket());
  const bool leaves = bells == shm::Bells::hung_up;
  const bool babbles = bells == shm::Bells::unexpected;
  const std::lock_guard turn(turn_);
  const Status collected = leaves || babbles ? session_->finish(port) : session_->collect(port);
  if (!collected) {
    end(port, collected.error());
  } else if (leaves) {
    end(port, {ErrorCode::source_lost, producer_name() + " went away"});
  } else if (babbles) {
    end(port, {ErrorCode::source_malformed, "the producer broke the protocol: an unknown message"});
  }
  return session_ != nullptr;
}

// False: the producer has no slot, and thus nothing to say.
bool ShmSource::lend(FramePort& port) noexcept {
  const std::lock_guard turn(turn_);
  top_up(port);
  if (session_->lent() == 0) {
    if (const auto slot = ring_->acquire_free(monotonic_now_ns() + kRingWaitNs)) {
      session_->lend(*slot);
      shm::ring_bell(session_->socket());
    }
  }
  return session_->lent() != 0;
}

// A frame's bell wakes the delivering thread later: it finds the frame taken, and lends the producer what is free.
void ShmSource::look(FramePort& port) noexcept {
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn || !session_ || !session_->has_filled()) return;
  if (!session_->collect(port)) interrupt();  // the delivering thread says how it ended
}

void ShmSource::top_up(FramePort& port) noexcept {
  const uint32_t before = session_->lent();
  while (session_->lent() < ring_->slots()) {
    const auto slot = ring_->acquire_free(0);
    if (!slot) break;
    session_->lend(*slot);
  }
  // Overwrite so early that the producer still has a slot to fill when it hands one over, but never so that
  // the worker would find nothing.
  if (session_->lent() == 0 || (session_->lent() == 1 && ring_->full() >= 2)) {
    if (const auto slot = port.acquire()) session_->lend(slot->index);
  }
  if (session_->lent() != before) shm::ring_bell(session_->socket());
}

void ShmSource::refuse_others() noexcept {
  if (const auto other = listener_.accept()) {
    shm::refuse(other->get(), FRAMELANE_SHM_PRODUCER, FRAMELANE_SHM_BUSY, "another producer is connected");
  }
}

void ShmSource::end(FramePort& port, const Error& error) {
  session_->abandon(port);
  session_.reset();
  port.failed(error);
}

void ShmSource::forget_wake() noexcept {
  uint64_t count = 0;
  static_cast<void>(!::read(wake_.get(), &count, sizeof count));
}

void ShmSource::stop() noexcept {
  interrupt();
  thread_.join();
  forget_wake();
}

void ShmSource::close() noexcept {
  session_.reset();
  connection_.reset();
  lobby_.clear();
  listener_.close();
  ring_ = nullptr;
}

void ShmSource::interrupt() noexcept {
  const uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

}  // namespace

Result<std::unique_ptr<Source>> make_shm_source(ShmSourceConfig config) {
  if (Status checked = check_socket_path(config.path); !checked) return checked.error();
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return Error{ErrorCode::io_failed, with_errno("eventfd", errno)};
  return std::unique_ptr<Source>(std::make_unique<ShmSource>(std::move(config), std::move(wake)));
}

Result<std::unique_ptr<Source>> make_shm_source(const Fields& fields) {
  constexpr double kNsPerSecond = 1e9;
  FieldReader reader("shm", fields);
  ShmSourceConfig config;
  config.path = reader.text("path");
  const double timeout =
      reader.number_or("timeout", 0.01, 3600, static_cast<double>(config.open_timeout_ns) / kNsPerSecond);
  if (Status read = reader.finish(); !read) return read.error();
  config.open_timeout_ns = static_cast<int64_t>(timeout * kNsPerSecond);
  return make_shm_source(std::move(config));
}

}  // namespace framelane::io
