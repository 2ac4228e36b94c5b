#include "node/event_queue.h"

#include <memory>
#include <new>
#include <string>
#include <tuple>

namespace framelane::node {
namespace {

constexpr size_t kMostWaiting = 4096;

const char* name_of(ChannelState state) noexcept {
  switch (state) {
    case ChannelState::idle: return "idle";
    case ChannelState::compiling: return "compiling";
    case ChannelState::starting: return "starting";
    case ChannelState::running: return "running";
    case ChannelState::stalled: return "stalled";
    case ChannelState::backoff: return "backoff";
    case ChannelState::faulted: return "faulted";
    case ChannelState::finished: return "finished";
    case ChannelState::stopped: return "stopped";
  }
  return "faulted";
}

void deliver(Napi::Env env, Napi::Function callback, Event* raw) {
  const std::unique_ptr<Event> event(raw);
  if (env == nullptr) return;  // the environment is going down
  Napi::Object object = Napi::Object::New(env);
  object.Set("channel", event->channel);
  object.Set("state", name_of(event->state));
  object.Set("code", std::string(to_string(event->code)));
  object.Set("message", event->message);
  if (event->sink >= 0) object.Set("sink", event->sink);
  object.Set("time", static_cast<double>(event->time_ns));
  callback.Call({object});
}

}  // namespace

EventQueue::EventQueue(Napi::Env env, const Napi::Function& callback)
    : function_(Napi::ThreadSafeFunction::New(env, callback, "framelane events", kMostWaiting, 1)) {
  function_.Unref(env);
}

void EventQueue::on_event(Event event) noexcept {
  if (closed_.load(std::memory_order_acquire)) return;
  std::unique_ptr<Event> copy(new (std::nothrow) Event(std::move(event)));
  if (copy && function_.NonBlockingCall(copy.get(), deliver) == napi_ok) {
    std::ignore = copy.release();  // deliver() owns it now
    return;
  }
  if (stats::Cell* lost = lost_.load(std::memory_order_acquire)) lost->fetch_add(1, std::memory_order_relaxed);
}

void EventQueue::close() noexcept {
  if (!closed_.exchange(true)) function_.Release();
}

}  // namespace framelane::node
