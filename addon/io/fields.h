// Reads a source's or sink's fields: types, ranges, and names that nobody knows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/format.h"
#include "io/make.h"

namespace framelane::io {

inline constexpr uint32_t kLargestSide = 65'535;  // pixels

// Asks for one field after the other; the first error stays and is what finish() returns, so that a
// reader of fields needs no test after each of them.
// Thread-safety: a value on the stack of whoever reads the fields, which outlive it.
class FieldReader {
 public:
  FieldReader(std::string subject, const Fields& fields) : subject_(std::move(subject)), fields_(fields) {}

  [[nodiscard]] std::string text(const std::string& name);  // must be there and not be empty
  [[nodiscard]] std::string text_or(const std::string& name, std::string otherwise);
  [[nodiscard]] bool flag_or(const std::string& name, bool otherwise);
  [[nodiscard]] double number_or(const std::string& name, double minimum, double maximum, double otherwise);
  [[nodiscard]] uint64_t whole(const std::string& name, uint64_t minimum, uint64_t maximum);  // must be there
  [[nodiscard]] uint64_t whole_or(const std::string& name, uint64_t minimum, uint64_t maximum, uint64_t otherwise);
  [[nodiscard]] size_t choice_or(const std::string& name, std::initializer_list<std::string_view> choices,
                                 size_t otherwise);
  [[nodiscard]] std::optional<PixelFormat> pixel_format(const std::string& name);
  [[nodiscard]] bool has(const std::string& name) const { return fields_.contains(name); }

  void refuse(const std::string& what);
  // The first error; also where a field was given that nobody asked for.
  [[nodiscard]] Status finish();

 private:
  template <typename T>
  const T* find(const std::string& name, const char* wanted);

  const std::string subject_;
  const Fields& fields_;
  std::set<std::string, std::less<>> known_;
  std::optional<Error> error_;
};

}  // namespace framelane::io
