#include "fakes/cuda/ledger.h"

#include <chrono>
#include <thread>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
}
#endif

namespace framelane::fake_cuda {
namespace {

thread_local int depth = 0;  // of the fake's own code on this thread

void ignore() noexcept {
  ++depth;
#if defined(__SANITIZE_THREAD__)
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
#endif
}

void look_again() noexcept {
  --depth;
#if defined(__SANITIZE_THREAD__)
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

// Never destroyed: streams may still run when the process ends.
std::mutex& mutex() {
  static std::mutex& one = *new std::mutex;
  return one;
}

}  // namespace

bool inside() noexcept {
  return depth > 0;
}

Unseen::Unseen() noexcept {
  ignore();
}
Unseen::~Unseen() {
  look_again();
}

Ledger::Ledger(uint64_t delay_ns) : lock_(mutex(), std::defer_lock) {
  if (delay_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(delay_ns));
  lock_.lock();
}

void Ledger::leave() noexcept {
  lock_.unlock();
  look_again();
}

void Ledger::enter() {
  ignore();
  lock_.lock();
}

bool Ledger::wait_until(std::condition_variable& changed, int64_t deadline_ns) {
  const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
  return changed.wait_until(lock_, deadline) == std::cv_status::no_timeout;
}

void publish([[maybe_unused]] const void* token) noexcept {
#if defined(__SANITIZE_THREAD__)
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  __tsan_release(const_cast<void*>(token));
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
#endif
}

void observe([[maybe_unused]] const void* token) noexcept {
#if defined(__SANITIZE_THREAD__)
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  __tsan_acquire(const_cast<void*>(token));
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
#endif
}

int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace framelane::fake_cuda
