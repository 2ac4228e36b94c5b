// A JavaScript object read field by field, with the path of each value for messages.
#pragma once

#include <napi.h>

#include <optional>
#include <string>

#include "core/error.h"

namespace framelane::node {

// Thread-safety: JavaScript thread only; lives no longer than the call that made it.
class ObjectReader {
 public:
  ObjectReader(const Napi::Value& value, std::string path);

  [[nodiscard]] bool has(const char* name) const;
  [[nodiscard]] Napi::Value value(const char* name) const { return object_.Get(name); }
  [[nodiscard]] ObjectReader object(const char* name) const;
  [[nodiscard]] Napi::Array array(const char* name) const;
  [[nodiscard]] std::string string(const char* name) const;
  [[nodiscard]] bool boolean(const char* name) const;
  // A finite number within [minimum, maximum].
  [[nodiscard]] double number(const char* name, double minimum, double maximum) const;
  [[nodiscard]] uint32_t integer(const char* name, uint32_t minimum, uint32_t maximum) const;
  // Seconds, as nanoseconds.
  [[nodiscard]] int64_t duration_ns(const char* name) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Napi::Object& raw() const noexcept { return object_; }
  [[noreturn]] void refuse(const char* name, const std::string& expected) const;

 private:
  Napi::Object object_;
  std::string path_;
};

// Throws the error that an invalid value gets.
[[noreturn]] void refuse(Napi::Env env, const std::string& path, const std::string& expected);

}  // namespace framelane::node
