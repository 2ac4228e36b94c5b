#include "node/engine_object.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "node/convert.h"

namespace framelane::node {
namespace {

// Destroys channels (and with the last one the engine) on a worker thread of libuv and resolves a promise:
// joining a channel may wait for a frame or a file. Thread-safety: made and finished on the JavaScript thread.
class Closer final : public Napi::AsyncWorker {
 public:
  Closer(Napi::Env env, std::vector<std::unique_ptr<Channel>> channels, std::shared_ptr<Engine> engine,
         std::shared_ptr<EventQueue> events)
      : Napi::AsyncWorker(env, "framelane close"),
        deferred_(env),
        events_(std::move(events)),
        engine_(std::move(engine)),
        channels_(std::move(channels)) {}

  [[nodiscard]] Napi::Promise promise() const { return deferred_.Promise(); }

  void Execute() override {
    for (auto& channel : channels_) channel->stop();
    channels_.clear();
    engine_.reset();
  }
  void OnOK() override { deferred_.Resolve(Env().Undefined()); }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<EventQueue> events_;
  std::shared_ptr<Engine> engine_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

void check(const Napi::CallbackInfo& info, const Status& status) {
  if (!status) throw to_js_error(info.Env(), status.error());
}

}  // namespace

Napi::Function EngineObject::define(Napi::Env env) {
  return DefineClass(env, "Engine",
                     {
                         InstanceMethod<&EngineObject::create_channel>("createChannel"),
                         InstanceMethod<&EngineObject::delete_channel>("deleteChannel"),
                         InstanceMethod<&EngineObject::start_channel>("startChannel"),
                         InstanceMethod<&EngineObject::stop_channel>("stopChannel"),
                         InstanceMethod<&EngineObject::restart_channel>("restartChannel"),
                         InstanceMethod<&EngineObject::replace_pipeline>("replacePipeline"),
                         InstanceMethod<&EngineObject::set_parameter>("setParameter"),
                         InstanceMethod<&EngineObject::parameters>("parameters"),
                         InstanceMethod<&EngineObject::set_device_limits>("setDeviceLimits"),
                         InstanceMethod<&EngineObject::device>("device"),
                         InstanceMethod<&EngineObject::stop>("stop"),
                     });
}

EngineObject::EngineObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<EngineObject>(info) {
  const EngineOptions options = to_engine_options(info[0]);
  if (!info[1].IsFunction()) {
    throw to_js_error(info.Env(), Error{ErrorCode::invalid_argument, "the second argument is the event callback"});
  }
  auto events = std::make_shared<EventQueue>(info.Env(), info[1].As<Napi::Function>());
  auto opened = Engine::open(options, *events);
  if (!opened) {
    events->close();
    throw to_js_error(info.Env(), opened.error());
  }
  events_ = std::move(events);
  engine_ = opened.take();
  events_->count_losses_in(engine_->block().events_lost);
  napi_add_env_cleanup_hook(info.Env(), shut_down_hook, this);
}

EngineObject::~EngineObject() {
  // An object that was collected must not be shut down again with the environment.
  napi_remove_env_cleanup_hook(Env(), shut_down_hook, this);
  shut_down();
}

void EngineObject::shut_down_hook(void* self) noexcept {
  static_cast<EngineObject*>(self)->shut_down();
}

void EngineObject::shut_down() noexcept {
  if (events_) events_->close();
  engine_.reset();
}

Engine& EngineObject::engine(const Napi::CallbackInfo& info) {
  if (!engine_) throw to_js_error(info.Env(), Error{ErrorCode::invalid_argument, "the engine was stopped"});
  return *engine_;
}

Channel& EngineObject::channel(const Napi::CallbackInfo& info) {
  const std::string name = to_string(info[0], "channel name");
  Channel* found = engine(info).find(name);
  if (found == nullptr) throw to_js_error(info.Env(), Error{ErrorCode::not_found, "no channel '" + name + "'"});
  return *found;
}

void EngineObject::create_channel(const Napi::CallbackInfo& info) {
  check(info, engine(info).create(to_channel_spec(info[0])));
}

Napi::Value EngineObject::delete_channel(const Napi::CallbackInfo& info) {
  std::ignore = channel(info);
  std::vector<std::unique_ptr<Channel>> taken;
  taken.push_back(engine_->take(to_string(info[0], "channel name")));
  auto* closer = new Closer(info.Env(), std::move(taken), engine_, events_);
  const Napi::Promise promise = closer->promise();
  closer->Queue();
  return promise;
}

void EngineObject::start_channel(const Napi::CallbackInfo& info) {
  channel(info).start();
}
void EngineObject::stop_channel(const Napi::CallbackInfo& info) {
  channel(info).stop();
}
void EngineObject::restart_channel(const Napi::CallbackInfo& info) {
  channel(info).restart();
}

void EngineObject::replace_pipeline(const Napi::CallbackInfo& info) {
  channel(info).replace_pipeline(to_pipeline_spec(info[1]));
}

void EngineObject::set_parameter(const Napi::CallbackInfo& info) {
  const std::string name = to_string(info[1], "parameter name");
  check(info, channel(info).set_parameter(name, to_number(info[2], "parameter value")));
}

Napi::Value EngineObject::parameters(const Napi::CallbackInfo& info) {
  return to_js(info.Env(), channel(info).parameters());
}

void EngineObject::set_device_limits(const Napi::CallbackInfo& info) {
  check(info, engine(info).set_limits(to_limits_order(info[0])));
}

Napi::Value EngineObject::device(const Napi::CallbackInfo& info) {
  return to_js(info.Env(), engine(info).device());
}

Napi::Value EngineObject::stop(const Napi::CallbackInfo& info) {
  if (!engine_) {
    const Napi::Promise::Deferred done(info.Env());
    done.Resolve(info.Env().Undefined());
    return done.Promise();
  }
  std::vector<std::unique_ptr<Channel>> taken = engine_->take_all();
  auto* closer = new Closer(info.Env(), std::move(taken), std::move(engine_), events_);
  const Napi::Promise promise = closer->promise();
  closer->Queue();
  return promise;
}

}  // namespace framelane::node
