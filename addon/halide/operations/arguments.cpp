#include "halide/operations/arguments.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <tuple>

namespace framelane::halide {

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

Error pipeline_invalid(std::string message) {
  return {ErrorCode::pipeline_invalid, std::move(message)};
}

Error needs_colour() {
  return pipeline_invalid("needs an image of three channels, not of one");
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
  return fits(name, *number, minimum, maximum) ? *number : minimum;
}

bool Arguments::fits(const std::string& name, double value, double minimum, double maximum) {
  if (value >= minimum && value <= maximum) return true;
  refuse("`" + name + "` is " + number_text(value) + " and must be from " + number_text(minimum) + " to " +
         number_text(maximum));
  return false;
}

double Arguments::level(const std::string& name, double nominal) {
  const auto found = left_.find(name);
  const auto* const text = found == left_.end() ? nullptr : std::get_if<std::string>(found->second);
  if (text == nullptr) return number(name, 0, nominal);
  std::ignore = take(name);
  double percent = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), percent);
  if (error != std::errc() || std::string_view(end) != "%" || !(percent >= 0 && percent <= 100)) {
    refuse("`" + name + "` is \"" + *text + "\" and must be a number or a share from \"0%\" to \"100%\"");
    return 0;
  }
  return percent / 100 * nominal;
}

std::vector<double> Arguments::numbers(const std::string& name, size_t count, double minimum, double maximum) {
  const ArgumentValue* const value = take(name);
  const auto* const list = value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
  if (list == nullptr || list->size() != count) {
    refuse("argument `" + name + "` must be a list of " + std::to_string(count) + " numbers");
    return std::vector<double>(count, minimum);
  }
  for (size_t i = 0; i < count; ++i)
    if (!fits(name + "[" + std::to_string(i) + "]", (*list)[i], minimum, maximum)) break;
  return *list;
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
