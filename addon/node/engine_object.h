// The JavaScript class `Engine` (NativeEngine in src/native/binding.ts).
#pragma once

#include <napi.h>

#include <memory>

#include "node/engine.h"
#include "node/event_queue.h"

namespace framelane::node {

// Thread-safety: JavaScript thread only.
class EngineObject final : public Napi::ObjectWrap<EngineObject> {
 public:
  [[nodiscard]] static Napi::Function define(Napi::Env env);
  explicit EngineObject(const Napi::CallbackInfo& info);
  ~EngineObject() override;

 private:
  void create_channel(const Napi::CallbackInfo& info);
  Napi::Value delete_channel(const Napi::CallbackInfo& info);
  void start_channel(const Napi::CallbackInfo& info);
  void stop_channel(const Napi::CallbackInfo& info);
  void restart_channel(const Napi::CallbackInfo& info);
  void replace_pipeline(const Napi::CallbackInfo& info);
  void set_parameter(const Napi::CallbackInfo& info);
  Napi::Value parameters(const Napi::CallbackInfo& info);
  void set_device_limits(const Napi::CallbackInfo& info);
  Napi::Value device(const Napi::CallbackInfo& info);
  Napi::Value stop(const Napi::CallbackInfo& info);

  [[nodiscard]] Engine& engine(const Napi::CallbackInfo& info);
  [[nodiscard]] Channel& channel(const Napi::CallbackInfo& info);
  static void shut_down_hook(void* self) noexcept;
  void shut_down() noexcept;  // returns when every thread is joined; idempotent
  static void clean_up(void* self);

  std::shared_ptr<EventQueue> events_;  // shared with closers that still run, so that it outlives the engine
  std::shared_ptr<Engine> engine_;      // null after stop(); a closer that still runs keeps it alive
  std::weak_ptr<Engine> last_engine_;   // expires when no thread of the engine is left
};

}  // namespace framelane::node
