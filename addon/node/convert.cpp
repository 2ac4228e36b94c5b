#include "node/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "io/make.h"
#include "node/fields.h"

namespace framelane::node {
namespace {

template <typename Enum>
Enum choice(const ObjectReader& reader, const char* name,
            std::initializer_list<std::pair<std::string_view, Enum>> choices) {
  const std::string found = reader.string(name);
  std::string expected = "one of";
  for (const auto& [text, value] : choices) {
    if (found == text) return value;
    expected += " " + std::string(text);
  }
  reader.refuse(name, expected);
}

// A source's or sink's own fields: all but those named in `common`.
io::Fields to_fields(const ObjectReader& reader, std::initializer_list<std::string_view> common) {
  io::Fields fields;
  const Napi::Array names = reader.raw().GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const std::string name = names.Get(i).ToString();
    if (std::find(common.begin(), common.end(), name) != common.end()) continue;
    const Napi::Value value = reader.value(name.c_str());
    if (value.IsUndefined() || value.IsNull()) continue;
    if (value.IsBoolean()) {
      fields.emplace(name, value.As<Napi::Boolean>().Value());
    } else if (value.IsNumber()) {
      fields.emplace(name, value.As<Napi::Number>().DoubleValue());
    } else if (value.IsString()) {
      fields.emplace(name, value.As<Napi::String>().Utf8Value());
    } else {
      reader.refuse(name.c_str(), "true, false, a number or a string");
    }
  }
  return fields;
}

ArgumentValue to_argument(const ObjectReader& arguments, const std::string& name) {
  const Napi::Value value = arguments.value(name.c_str());
  if (value.IsNumber()) return value.As<Napi::Number>().DoubleValue();
  if (value.IsString()) return value.As<Napi::String>().Utf8Value();
  if (!value.IsArray()) arguments.refuse(name.c_str(), "a number, a string or a list of numbers");
  const auto list = value.As<Napi::Array>();
  std::vector<double> numbers;
  for (uint32_t i = 0; i < list.Length(); ++i) numbers.push_back(to_number(list.Get(i), name.c_str()));
  return numbers;
}

SinkSpec to_sink_spec(const Napi::Value& value, uint32_t index) {
  const ObjectReader reader(value, "sinks[" + std::to_string(index) + "]");
  const std::string type = reader.string("type");
  auto made = io::make_sink(type, to_fields(reader, {"type", "every", "queue", "onFull"}));
  if (!made) throw to_js_error(value.Env(), made.error());
  SinkSpec spec = made.take();
  spec.name = type + " " + std::to_string(index);
  spec.every = reader.integer("every", 1, 1'000'000'000);
  spec.queue = reader.integer("queue", 1, 1024);
  spec.on_full = choice<SinkFull>(
      reader, "onFull",
      {{"drop-newest", SinkFull::drop_newest}, {"drop-oldest", SinkFull::drop_oldest}, {"wait", SinkFull::wait}});
  return spec;
}

ThreadPolicy to_thread_policy(const ObjectReader& reader) {
  ThreadPolicy policy;
  const Napi::Array cpus = reader.array("cpus");
  for (uint32_t i = 0; i < cpus.Length(); ++i) {
    const double cpu = to_number(cpus.Get(i), "schedule.cpus");
    if (!(cpu >= 0 && cpu < 4096)) reader.refuse("cpus", "CPU numbers below 4096");
    policy.cpus.push_back(static_cast<uint32_t>(cpu));
  }
  policy.fifo_priority = reader.integer("fifo", 0, 99);
  policy.nice = static_cast<int>(reader.number("nice", -20, 19));
  return policy;
}

void read_source(const ObjectReader& source, const io::Phase& phase, ChannelSpec& spec) {
  const std::string type = source.string("type");
  io::Fields fields = to_fields(source, {"type"});
  // Made once here so that a bad field is refused at once; the worker makes its own when it opens.
  auto tried = io::make_source(type, fields, phase);
  if (!tried && tried.error().code == ErrorCode::invalid_argument) throw to_js_error(source.raw().Env(), tried.error());
  spec.make_source = [type, fields = std::move(fields), phase] { return io::make_source(type, fields, phase); };
}

void read_ring(const ObjectReader& ring, ChannelSpec& spec) {
  spec.slots = ring.integer("slots", 2, 256);
  if (!ring.has("handling")) return;
  spec.handling = choice<HandlingMode>(ring, "handling",
                                       {{"oldest-first", HandlingMode::oldest_first},
                                        {"oldest-first-overwrite", HandlingMode::oldest_first_overwrite},
                                        {"newest-only", HandlingMode::newest_only}});
}

constexpr double kMostBytes = 1e15;
constexpr double kMostBuffers = 4294967295.0;

DeviceLimits to_limits(const ObjectReader& reader) {
  DeviceLimits limits;
  if (reader.has("maxBytes")) limits.max_bytes = static_cast<uint64_t>(reader.number("maxBytes", 0, kMostBytes));
  if (reader.has("maxBuffers"))
    limits.max_buffers = static_cast<uint32_t>(reader.number("maxBuffers", 0, kMostBuffers));
  return limits;
}

DeviceOptions to_device_options(const ObjectReader& options) {
  DeviceOptions device;
  device.id = options.string("device");
  if (!options.has("cuda")) return device;
  const ObjectReader cuda = options.object("cuda");
  if (cuda.has("library")) device.library = cuda.string("library");
  if (cuda.has("cacheDirectory")) device.cache_directory = cuda.string("cacheDirectory");
  device.limits = to_limits(cuda.object("memory"));
  device.reserve_bytes = static_cast<uint64_t>(cuda.object("memory").number("reserve", 0, kMostBytes));
  device.pinned_reserve_bytes = static_cast<uint64_t>(cuda.object("pinned").number("reserve", 0, kMostBytes));
  device.frame_timeout_ns = cuda.duration_ns("gpuTimeout");
  if (cuda.has("replay")) device.replay = cuda.boolean("replay");
  return device;
}

}  // namespace

LimitsOrder to_limits_order(const Napi::Value& value) {
  const ObjectReader reader(value, "limits");
  return {reader.has("channel") ? reader.string("channel") : std::string(), to_limits(reader)};
}

EngineOptions to_engine_options(const Napi::Value& value) {
  const ObjectReader reader(value, "options");
  EngineOptions options;
  options.device = to_device_options(reader);
  options.statistics_path = reader.string("statisticsPath");
  options.engine_cell = reader.integer("engineCell", 0, 1023);
  options.compile_threads = reader.integer("compileThreads", 1, 64);
  options.owns_process = reader.has("ownsProcess") && reader.boolean("ownsProcess");
  if (reader.has("parentPid")) options.parent_pid = reader.integer("parentPid", 0, std::numeric_limits<int32_t>::max());
  return options;
}

PipelineSpec to_pipeline_spec(const Napi::Value& value) {
  if (!value.IsArray()) refuse(value.Env(), "pipeline", "a list of operations");
  const auto list = value.As<Napi::Array>();
  PipelineSpec spec;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const ObjectReader reader(list.Get(i), "pipeline[" + std::to_string(i) + "]");
    OperationSpec operation;
    operation.name = reader.string("name");
    const ObjectReader arguments = reader.object("arguments");
    const Napi::Array names = arguments.raw().GetPropertyNames();
    for (uint32_t k = 0; k < names.Length(); ++k) {
      const std::string name = names.Get(k).ToString();
      operation.arguments.emplace(name, to_argument(arguments, name));
    }
    spec.operations.push_back(std::move(operation));
  }
  return spec;
}

ChannelSpec to_channel_spec(const Napi::Value& value) {
  const ObjectReader reader(value, "channel");
  ChannelSpec spec;
  spec.name = reader.string("name");
  if (spec.name.empty() || spec.name.size() >= stats::kNameBytes) reader.refuse("name", "1 to 63 bytes");
  spec.cell = reader.integer("cell", 0, 1'000'000);
  const auto phase =
      choice<io::Phase>(reader, "stagger", {{"auto", io::staggered(spec.cell)}, {"off", io::in_phase()}});
  read_source(reader.object("source"), phase, spec);
  read_ring(reader.object("ring"), spec);
  spec.pipeline = to_pipeline_spec(reader.value("pipeline"));
  const Napi::Array sinks = reader.array("sinks");
  if (sinks.Length() > stats::kSinksPerChannel) reader.refuse("sinks", "at most 8 sinks");
  for (uint32_t i = 0; i < sinks.Length(); ++i) spec.sinks.push_back(to_sink_spec(sinks.Get(i), i));
  if (reader.has("deadline")) spec.deadline_ns = reader.duration_ns("deadline");
  spec.on_overload = choice<OnOverload>(reader, "onOverload",
                                        {{"never", OnOverload::never},
                                         {"drop-late", OnOverload::drop_late},
                                         {"degrade-others", OnOverload::degrade_others}});
  spec.wait = choice<Wait>(reader, "wait", {{"blocking", Wait::blocking}, {"spin", Wait::spin}});
  spec.in_flight = reader.integer("inFlight", 1, 8);
  spec.threads = reader.integer("threads", 1, 64);
  if (reader.has("maxMemory")) spec.max_memory_bytes = static_cast<uint64_t>(reader.number("maxMemory", 0, 1e15));
  spec.stall_ns = reader.duration_ns("stall");
  spec.thread_policy = to_thread_policy(reader.object("schedule"));
  const ObjectReader retry = reader.object("retry");
  spec.retry = {retry.duration_ns("first"), retry.duration_ns("most")};
  spec.device_limits = to_limits(reader.object("memory"));
  spec.pinned_required = reader.string("pinned") == "required";
  spec.start = reader.boolean("start");
  spec.after_device_loss = reader.has("afterDeviceLoss") && reader.boolean("afterDeviceLoss");
  return spec;
}

std::string to_string(const Napi::Value& value, const char* what) {
  if (!value.IsString()) refuse(value.Env(), what, "a string");
  return value.As<Napi::String>();
}

double to_number(const Napi::Value& value, const char* what) {
  if (!value.IsNumber()) refuse(value.Env(), what, "a number");
  return value.As<Napi::Number>();
}

Napi::Error to_js_error(Napi::Env env, const Error& error) {
  Napi::Error made = Napi::Error::New(env, error.message);
  made.Set("code", std::string(framelane::to_string(error.code)));
  return made;
}

Napi::Value to_js(Napi::Env env, const std::vector<ParameterInfo>& parameters) {
  Napi::Array list = Napi::Array::New(env, parameters.size());
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("name", parameters[i].name);
    object.Set("value", parameters[i].value);
    object.Set("minimum", parameters[i].minimum);
    object.Set("maximum", parameters[i].maximum);
    list.Set(i, object);
  }
  return list;
}

Napi::Value to_js(Napi::Env env, const DeviceInfo& device) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("id", device.id);
  object.Set("name", device.name);
  object.Set("memoryBytes", static_cast<double>(device.memory_bytes));
  object.Set("cores", device.cores);
  const auto set = [&](const char* name, const std::string& text) {
    if (!text.empty()) object.Set(name, text);
  };
  set("uuid", device.uuid);
  set("busId", device.bus_id);
  set("architecture", device.architecture);
  set("driver", device.driver);
  if (device.numa_node >= 0) object.Set("numaNode", device.numa_node);
  return object;
}

}  // namespace framelane::node
