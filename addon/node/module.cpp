// framelane.node: what src/native/binding.ts calls NativeAddon.
#include <napi.h>

#include "core/stats_description.h"
#include "halide/cpu_device.h"
#include "io/plugin.h"
#include "node/convert.h"
#include "node/engine_object.h"
#include "node/make_device.h"

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

// listDevices(cudaLibrary?): the GPUs, or why there is none.
Napi::Value list_devices(const Napi::CallbackInfo& info) {
  namespace node = framelane::node;
  const std::string library = info[0].IsUndefined() ? std::string() : node::to_string(info[0], "the driver's library");
  const auto gpus = node::list_gpus(library);
  Napi::Object answer = Napi::Object::New(info.Env());
  Napi::Array devices = Napi::Array::New(info.Env());
  if (gpus) {
    for (const framelane::DeviceInfo& gpu : gpus.value()) devices.Set(devices.Length(), node::to_js(info.Env(), gpu));
  } else {
    answer.Set("problem", gpus.error().message);
  }
  answer.Set("devices", devices);
  return answer;
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("Engine", framelane::node::EngineObject::define(env));
  Napi::Object build = Napi::Object::New(env);
  build.Set("halide", framelane::halide::version());
  build.Set("compiler", "g++ " __VERSION__);
  build.Set("statsLayoutHash", static_cast<double>(framelane::stats::layout_hash()));
  build.DefineProperty(Napi::PropertyDescriptor::Accessor<plugins>("plugins", napi_enumerable));
  exports.Set("build", build);
  exports.Set("listDevices", Napi::Function::New<list_devices>(env, "listDevices"));
  return exports;
}

}  // namespace

NODE_API_MODULE(framelane, initialise)
