#include "halide/frame_context.h"

#include <cstring>

namespace framelane::halide {

FrameContext::FrameContext(Arena& arena, ThreadPool& pool) : arena_(arena), pool_(pool) {
  handlers.custom_malloc = allocate;
  handlers.custom_free = release;
  handlers.custom_do_par_for = run_loop;
  handlers.custom_error = take_error;
}

void* FrameContext::allocate(Halide::JITUserContext* context, size_t bytes) {
  return static_cast<FrameContext*>(context)->arena_.allocate(bytes);
}

void FrameContext::release(Halide::JITUserContext* context, void* data) {
  static_cast<FrameContext*>(context)->arena_.release(data);
}

int FrameContext::run_loop(Halide::JITUserContext* context, int (*task)(Halide::JITUserContext*, int, uint8_t*),
                           int first, int count, uint8_t* closure) {
  struct Call {
    Halide::JITUserContext* context;
    int (*task)(Halide::JITUserContext*, int, uint8_t*);
  } call{context, task};
  const auto one = [](void* of, int32_t index, uint8_t* data) -> int {
    const Call& known = *static_cast<const Call*>(of);
    return known.task(known.context, index, data);
  };
  return static_cast<FrameContext*>(context)->pool_.run(&call, one, first, count, closure);
}

// The first message names the cause; tasks may fail side by side.
void FrameContext::take_error(Halide::JITUserContext* context, const char* message) {
  FrameContext& self = *static_cast<FrameContext*>(context);
  if (self.said_.exchange(true, std::memory_order_relaxed)) return;
  std::strncpy(self.error_, message, sizeof self.error_ - 1);
  for (size_t length = std::strlen(self.error_); length > 0 && self.error_[length - 1] == '\n'; --length)
    self.error_[length - 1] = '\0';
}

}  // namespace framelane::halide
