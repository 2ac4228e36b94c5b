#include "io/fields.h"

#include <cmath>
#include <sstream>

namespace framelane::io {
namespace {

std::string shown(double value) {
  std::ostringstream out;
  out.precision(15);
  out << value;
  return out.str();
}

}  // namespace

void FieldReader::refuse(const std::string& what) {
  if (!error_) error_ = Error{ErrorCode::invalid_argument, subject_ + ": " + what};
}

template <typename T>
const T* FieldReader::find(const std::string& name, const char* wanted) {
  known_.insert(name);
  const auto field = fields_.find(name);
  if (field == fields_.end()) return nullptr;
  const T* value = std::get_if<T>(&field->second);
  if (value == nullptr) refuse("'" + name + "' must be " + wanted);
  return value;
}

std::string FieldReader::text(const std::string& name) {
  const std::string value = text_or(name, "");
  if (value.empty()) refuse("'" + name + "' must be a text that is not empty");
  return value;
}

std::string FieldReader::text_or(const std::string& name, std::string otherwise) {
  const auto* value = find<std::string>(name, "a text");
  if (value == nullptr) return otherwise;
  if (value->find('\0') != std::string::npos) refuse("'" + name + "' must not hold a NUL");
  return *value;
}

bool FieldReader::flag_or(const std::string& name, bool otherwise) {
  const auto* value = find<bool>(name, "true or false");
  return value == nullptr ? otherwise : *value;
}

double FieldReader::number_or(const std::string& name, double minimum, double maximum, double otherwise) {
  const auto* value = find<double>(name, "a number");
  if (value == nullptr) return otherwise;
  if (*value >= minimum && *value <= maximum) return *value;
  refuse("'" + name + "' must be a number from " + shown(minimum) + " to " + shown(maximum));
  return otherwise;
}

uint64_t FieldReader::whole(const std::string& name, uint64_t minimum, uint64_t maximum) {
  if (!has(name)) refuse("'" + name + "' is missing");
  return whole_or(name, minimum, maximum, minimum);
}

uint64_t FieldReader::whole_or(const std::string& name, uint64_t minimum, uint64_t maximum, uint64_t otherwise) {
  const auto* value = find<double>(name, "a whole number");
  if (value == nullptr) return otherwise;
  const double least = static_cast<double>(minimum);
  const double most = static_cast<double>(maximum);
  if (*value >= least && *value <= most && std::floor(*value) == *value) return static_cast<uint64_t>(*value);
  refuse("'" + name + "' must be a whole number from " + shown(least) + " to " + shown(most));
  return otherwise;
}

size_t FieldReader::choice_or(const std::string& name, std::initializer_list<std::string_view> choices,
                              size_t otherwise) {
  const auto* value = find<std::string>(name, "a text");
  if (value == nullptr) return otherwise;
  std::string all;
  size_t index = 0;
  for (const std::string_view choice : choices) {
    if (choice == *value) return index;
    all += (index++ == 0 ? "" : ", ") + std::string(choice);
  }
  refuse("'" + name + "' is '" + *value + "', must be one of " + all);
  return otherwise;
}

std::optional<PixelFormat> FieldReader::pixel_format(const std::string& name) {
  const auto* value = find<std::string>(name, "the name of a pixel format");
  if (value == nullptr) return std::nullopt;
  const std::optional<PixelFormat> format = pixel_format_from_name(*value);
  if (!format) refuse("there is no pixel format '" + *value + "'");
  return format;
}

Status FieldReader::finish() {
  for (const auto& [name, value] : fields_) {
    if (!known_.contains(name)) refuse("there is no field '" + name + "'");
  }
  if (error_) return *error_;
  return {};
}

}  // namespace framelane::io
