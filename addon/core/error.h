// Error values of the core: a code that never changes its name and one sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace framelane {

enum class ErrorCode : uint8_t {
#define FRAMELANE_ERROR(code) code,
#include "core/error_codes.def"
#undef FRAMELANE_ERROR
};

[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;

// Thread-safety: a value; each copy belongs to whoever holds it.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // one sentence, names the thing it is about
};

// Success or an Error. Thread-safety: a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design
  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] const Error& error() const noexcept { return *error_; }

 private:
  std::optional<Error> error_;
};

// A T or an Error. Thread-safety: a value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design
  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] T& value() noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] T take() { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] const Error& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace framelane
