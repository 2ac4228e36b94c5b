// The delivering thread of a source.
#pragma once

#include <functional>
#include <thread>

#include "core/error.h"
#include "io/pacing.h"

namespace framelane::io {

// Thread-safety: start() and join() by the source's owner; stop_flag() also by the thread itself.
class SourceThread {
 public:
  SourceThread() = default;
  ~SourceThread() { join(); }
  SourceThread(const SourceThread&) = delete;
  SourceThread& operator=(const SourceThread&) = delete;

  // `name` as `top -H` shows it, at most 15 bytes. `body` returns soon after the stop flag is up.
  Status start(const char* name, std::function<void()> body);
  void join() noexcept;  // asks it to stop and waits for it; does nothing where none runs
  [[nodiscard]] StopFlag& stop_flag() noexcept { return stop_; }

 private:
  StopFlag stop_;
  std::thread thread_;
};

}  // namespace framelane::io
