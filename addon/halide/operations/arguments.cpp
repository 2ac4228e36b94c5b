#include "halide/operations/arguments.h"

#include <charconv>
#include <cmath>

namespace framelane::halide {

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

Error pipeline_invalid(std::string message) {
  return {ErrorCode::pipeline_invalid, std::move(message)};
}

Arguments::Arguments(const OperationSpec& spec) {
  for (const auto& [name, value] : spec.arguments) left_.emplace(name, &value);
}

void Arguments::refuse(std::string message) {
  if (!wrong_) wrong_ = std::move(message);
}

const ArgumentValue* Arguments::take(const std::string& name) {
  const auto found = left_.find(name);
  if (found == left_.end()) return nullptr;
  const ArgumentValue* value = found->second;
  left_.erase(found);
  return value;
}

double Arguments::number(const std::string& name, double minimum, double maximum, std::optional<double> otherwise) {
  const ArgumentValue* value = take(name);
  if (value == nullptr) {
    if (!otherwise) refuse("argument `" + name + "` is missing");
    return otherwise.value_or(minimum);
  }
  const double* number = std::get_if<double>(value);
  if (number == nullptr) {
    refuse("argument `" + name + "` must be a number");
    return minimum;
  }
  if (!(*number >= minimum && *number <= maximum)) {
    refuse("`" + name + "` is " + number_text(*number) + " and must be from " + number_text(minimum) + " to " +
           number_text(maximum));
    return minimum;
  }
  return *number;
}

int32_t Arguments::whole(const std::string& name, int32_t minimum, int32_t maximum, std::optional<int32_t> otherwise) {
  const double value = number(name, minimum, maximum, otherwise);
  if (value != std::floor(value)) refuse("`" + name + "` is " + number_text(value) + " and must be a whole number");
  return static_cast<int32_t>(value);
}

size_t Arguments::choice(const std::string& name, const std::vector<std::string>& choices,
                         std::optional<size_t> otherwise) {
  const ArgumentValue* value = take(name);
  if (value == nullptr) {
    if (!otherwise) refuse("argument `" + name + "` is missing");
    return otherwise.value_or(0);
  }
  std::string expected;
  const std::string* text = std::get_if<std::string>(value);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (text != nullptr && *text == choices[i]) return i;
    expected += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
  }
  refuse("`" + name + "` is " + (text != nullptr ? "\"" + *text + "\"" : "no text") + " and must be " + expected);
  return 0;
}

Status Arguments::finish() {
  if (!wrong_ && !left_.empty()) refuse("unknown argument `" + left_.begin()->first + "`");
  if (wrong_) return pipeline_invalid(*wrong_);
  return {};
}

}  // namespace framelane::halide
