// Takes an operation's arguments in, once, with the reason when one does not fit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/pipeline.h"

namespace framelane::halide {

[[nodiscard]] std::string number_text(double value);  // shortest form: "1.2", "600"
[[nodiscard]] Error pipeline_invalid(std::string message);
[[nodiscard]] Error needs_colour();

// Remembers the first thing that is wrong; finish() hands it out, or names an argument that nobody took.
// Thread-safety: owned by one thread.
class Arguments {
 public:
  explicit Arguments(const OperationSpec& spec);

  [[nodiscard]] double number(const std::string& name, double minimum, double maximum,
                              std::optional<double> otherwise = std::nullopt);
  [[nodiscard]] int32_t whole(const std::string& name, int32_t minimum, int32_t maximum,
                              std::optional<int32_t> otherwise = std::nullopt);
  // A number of counts up to `nominal`, or a share of it as text: "6.25%".
  [[nodiscard]] double level(const std::string& name, double nominal);
  // A list of so many numbers.
  [[nodiscard]] std::vector<double> numbers(const std::string& name, size_t count, double minimum, double maximum);
  // The index in `choices`.
  [[nodiscard]] size_t choice(const std::string& name, const std::vector<std::string>& choices,
                              std::optional<size_t> otherwise = std::nullopt);
  Status finish();

 private:
  const ArgumentValue* take(const std::string& name);
  [[nodiscard]] bool fits(const std::string& name, double value, double minimum, double maximum);
  void refuse(std::string message);

  std::map<std::string, const ArgumentValue*> left_;
  std::optional<std::string> wrong_;
};

}  // namespace framelane::halide
