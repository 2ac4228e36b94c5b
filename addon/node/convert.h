// JavaScript values to plain structs, checked again: native code never trusts its caller.
#pragma once

#include <napi.h>

#include <string>

#include "core/channel.h"
#include "core/error.h"

namespace framelane::node {

// What `new Engine(options)` takes.
struct EngineOptions {
  DeviceOptions device;
  std::string statistics_path;
  uint32_t engine_cell = 0;
  uint32_t compile_threads = 1;
  bool owns_process = false;  // the process may end when the device is lost
  // The process that this one ends with, a little later than its JavaScript would end it; 0: none.
  uint32_t parent_pid = 0;
};

// What `setDeviceLimits(limits)` takes.
struct LimitsOrder {
  std::string channel;  // empty: the device's own
  DeviceLimits limits;
};

// All of these throw a Napi::Error with `code` and the path of the bad value in its message.
// They are called on the JavaScript thread only; what they return holds no JavaScript value.
[[nodiscard]] EngineOptions to_engine_options(const Napi::Value& value);
[[nodiscard]] LimitsOrder to_limits_order(const Napi::Value& value);
[[nodiscard]] ChannelSpec to_channel_spec(const Napi::Value& value);
[[nodiscard]] PipelineSpec to_pipeline_spec(const Napi::Value& value);
[[nodiscard]] std::string to_string(const Napi::Value& value, const char* what);
[[nodiscard]] double to_number(const Napi::Value& value, const char* what);

[[nodiscard]] Napi::Error to_js_error(Napi::Env env, const Error& error);
[[nodiscard]] Napi::Value to_js(Napi::Env env, const std::vector<ParameterInfo>& parameters);
[[nodiscard]] Napi::Value to_js(Napi::Env env, const DeviceInfo& device);

}  // namespace framelane::node
