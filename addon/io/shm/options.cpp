#include "io/shm/options.h"

#include <initializer_list>
#include <string_view>

#include "io/shm/listener.h"

namespace framelane::io::shm {
namespace {

constexpr double kNsPerSecond = 1e9;

Error invalid(const std::string& what) {
  return Error{ErrorCode::invalid_argument, "shm: " + what};
}

Status check_names(const Fields& fields, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : fields) {
    bool found = false;
    for (const std::string_view other : known) found = found || other == name;
    if (!found) return invalid("there is no field '" + name + "'");
  }
  return {};
}

Result<std::string> socket_path(const Fields& fields) {
  const auto field = fields.find("path");
  const auto* path = field == fields.end() ? nullptr : std::get_if<std::string>(&field->second);
  if (path == nullptr) return invalid("'path' must be a text");
  if (Status checked = check_socket_path(*path); !checked) return checked.error();
  return *path;
}

// The field's value, or `otherwise` where it is not given.
Result<double> number(const Fields& fields, const std::string& name, double minimum, double maximum, double otherwise) {
  const auto field = fields.find(name);
  if (field == fields.end()) return otherwise;
  const auto* value = std::get_if<double>(&field->second);
  if (value == nullptr || !(*value >= minimum && *value <= maximum))
    return invalid("'" + name + "' must be a number from " + std::to_string(minimum) + " to " +
                   std::to_string(maximum));
  return *value;
}

}  // namespace

Result<ShmSourceConfig> source_options(const Fields& fields) {
  if (Status checked = check_names(fields, {"path", "timeout"}); !checked) return checked.error();
  ShmSourceConfig config;
  Result<std::string> path = socket_path(fields);
  if (!path) return path.error();
  const Result<double> timeout = number(fields, "timeout", 0.01, 3600, config.open_timeout_ns / kNsPerSecond);
  if (!timeout) return timeout.error();
  config.path = path.take();
  config.open_timeout_ns = static_cast<int64_t>(timeout.value() * kNsPerSecond);
  return config;
}

}  // namespace framelane::io::shm
