// Events from native threads to JavaScript: bounded, never blocking.
#pragma once

#include <napi.h>

#include <atomic>

#include "core/channel.h"

namespace framelane::node {

// When the queue is full the event is lost and counted; its reader then re-reads the statistics block.
// Thread-safety: on_event() from any thread; the rest on the JavaScript thread.
class EventQueue final : public EventListener {
 public:
  EventQueue(Napi::Env env, const Napi::Function& callback);
  ~EventQueue() override = default;

  void on_event(Event event) noexcept override;

  // Where losses are counted; valid until close().
  void count_losses_in(stats::Cell& cell) noexcept { lost_.store(&cell, std::memory_order_release); }
  // After it no event is passed on. Idempotent.
  void close() noexcept;

 private:
  Napi::ThreadSafeFunction function_;
  std::atomic<stats::Cell*> lost_{nullptr};
  std::atomic<bool> closed_{false};
};

}  // namespace framelane::node
