// framelane.node: what src/native/binding.ts calls NativeAddon.
#include <napi.h>

#include "core/stats_description.h"
#include "halide/cpu_device.h"
#include "node/engine_object.h"

namespace {

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("Engine", framelane::node::EngineObject::define(env));
  Napi::Object build = Napi::Object::New(env);
  build.Set("halide", framelane::halide::version());
  build.Set("compiler", "g++ " __VERSION__);
  build.Set("statsLayoutHash", static_cast<double>(framelane::stats::layout_hash()));
  exports.Set("build", build);
  return exports;
}

}  // namespace

NODE_API_MODULE(framelane, initialise)
