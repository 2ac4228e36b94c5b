#include "io/source_thread.h"

#include <pthread.h>

#include <system_error>

namespace framelane::io {

Status SourceThread::start(const char* name, std::function<void()> body) {
  join();
  stop_.rearm();
  try {
    thread_ = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return Error{ErrorCode::source_unavailable, std::string("no thread for ") + name + ": " + error.what()};
  }
  pthread_setname_np(thread_.native_handle(), name);
  return {};
}

void SourceThread::join() noexcept {
  if (!thread_.joinable()) return;
  stop_.request();
  thread_.join();
}

}  // namespace framelane::io
