#include "node/fields.h"

#include <cmath>

#include "node/convert.h"

namespace framelane::node {

void refuse(Napi::Env env, const std::string& path, const std::string& expected) {
  throw to_js_error(env, Error{ErrorCode::invalid_argument, path + ": expected " + expected});
}

ObjectReader::ObjectReader(const Napi::Value& value, std::string path) : path_(std::move(path)) {
  if (!value.IsObject() || value.IsArray()) node::refuse(value.Env(), path_, "an object");
  object_ = value.As<Napi::Object>();
}

void ObjectReader::refuse(const char* name, const std::string& expected) const {
  node::refuse(object_.Env(), path_ + "." + name, expected);
}

bool ObjectReader::has(const char* name) const {
  const Napi::Value found = object_.Get(name);
  return !found.IsUndefined() && !found.IsNull();
}

ObjectReader ObjectReader::object(const char* name) const {
  return {object_.Get(name), path_ + "." + name};
}

Napi::Array ObjectReader::array(const char* name) const {
  const Napi::Value found = object_.Get(name);
  if (!found.IsArray()) refuse(name, "a list");
  return found.As<Napi::Array>();
}

std::string ObjectReader::string(const char* name) const {
  const Napi::Value found = object_.Get(name);
  if (!found.IsString()) refuse(name, "a string");
  return found.As<Napi::String>();
}

bool ObjectReader::boolean(const char* name) const {
  const Napi::Value found = object_.Get(name);
  if (!found.IsBoolean()) refuse(name, "true or false");
  return found.As<Napi::Boolean>();
}

double ObjectReader::number(const char* name, double minimum, double maximum) const {
  const Napi::Value found = object_.Get(name);
  const double number = found.IsNumber() ? found.As<Napi::Number>().DoubleValue() : std::nan("");
  if (!(number >= minimum && number <= maximum)) {
    refuse(name, "a number from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return number;
}

uint32_t ObjectReader::integer(const char* name, uint32_t minimum, uint32_t maximum) const {
  const double found = number(name, minimum, maximum);
  if (found != std::floor(found)) refuse(name, "a whole number");
  return static_cast<uint32_t>(found);
}

int64_t ObjectReader::duration_ns(const char* name) const {
  constexpr double kMostSeconds = 1e9;  // fits an int64 in nanoseconds
  return std::llround(number(name, 0, kMostSeconds) * 1e9);
}

}  // namespace framelane::node
