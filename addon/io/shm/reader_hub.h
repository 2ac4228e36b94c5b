// The readers of a shm sink.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/frame.h"
#include "framelane/shm_layout.h"
#include "io/shm/listener.h"
#include "io/shm/lobby.h"
#include "io/shm/unique_fd.h"

namespace framelane::io::shm {

// Greets readers and sees them leave, on a thread of its own, so that a reader is served also while no result comes.
// Thread-safety: open, ring_bells and close: the sink's thread. The places are shared with the hub's thread, under a
// lock that is held for no longer than a send that never blocks.
class ReaderHub {
 public:
  ReaderHub() = default;
  ~ReaderHub() { close(); }
  ReaderHub(const ReaderHub&) = delete;
  ReaderHub& operator=(const ReaderHub&) = delete;

  // Each reader is sent the welcome with `fd`, which outlives close().
  [[nodiscard]] Status open(const std::string& path, const framelane_shm_welcome& welcome, int fd);
  void ring_bells() noexcept;
  void close() noexcept;

 private:
  static constexpr int64_t kHelloNs = 1'000'000'000;

  void serve() noexcept;
  void greet() noexcept;
  void hear(UniqueFd& place) noexcept;
  void vacate(UniqueFd& place) noexcept;

  Listener listener_;
  Lobby lobby_{FRAMELANE_SHM_READER, kHelloNs};  // the hub's thread's
  framelane_shm_welcome welcome_{};
  int fd_ = -1;
  UniqueFd wake_;  // eventfd
  std::atomic<bool> closing_{false};
  std::mutex mutex_;                                        // guards places_; only the hub's thread changes them
  std::array<UniqueFd, FRAMELANE_SHM_MAX_READERS> places_;  // readers that have had their WELCOME
  std::thread thread_;
};

}  // namespace framelane::io::shm
