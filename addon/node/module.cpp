// framelane.node: what src/native/binding.ts calls NativeAddon.
#include <napi.h>

#include "core/stats_description.h"
#include "halide/cpu_device.h"
#include "io/plugin.h"
#include "node/engine_object.h"

namespace {

// Loads what there is, so only when somebody asks: an engine opens a plug-in with its first source.
Napi::Value plugins(const Napi::CallbackInfo& info) {
  Napi::Object found = Napi::Object::New(info.Env());
  for (const char* name : {"ffmpeg"}) {
    const auto plugin = framelane::io::load_plugin(name);
    if (plugin) found.Set(name, plugin.value()->version);
  }
  return found;
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("Engine", framelane::node::EngineObject::define(env));
  Napi::Object build = Napi::Object::New(env);
  build.Set("halide", framelane::halide::version());
  build.Set("compiler", "g++ " __VERSION__);
  build.Set("statsLayoutHash", static_cast<double>(framelane::stats::layout_hash()));
  build.DefineProperty(Napi::PropertyDescriptor::Accessor<plugins>("plugins", napi_enumerable));
  exports.Set("build", build);
  return exports;
}

}  // namespace

NODE_API_MODULE(framelane, initialise)
