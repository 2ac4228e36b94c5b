#include "io/sinks/file_path.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace framelane::io {
namespace {

constexpr const char* kTemporarySuffix = ".part";
constexpr uint32_t kMostDigits = 20;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// What the digits say, where they are nothing but digits and stand for 64 bits.
std::optional<uint64_t> number_of(const std::string& digits) noexcept {
  uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, problem] = std::from_chars(digits.data(), end, value);
  return problem == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

// Index of the name in the path: after the last slash.
size_t name_start(const std::string& path) noexcept {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? 0 : slash + 1;
}

// Index of the extension's dot; the path's end where the name has none.
size_t extension_start(const std::string& path) noexcept {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos || dot <= name_start(path) ? path.size() : dot;
}

Error invalid(const std::string& path, const std::string& what) {
  return Error{ErrorCode::invalid_argument, "file: the path '" + path + "' " + what};
}

}  // namespace

std::string temporary_name(const std::string& path) {
  return path + kTemporarySuffix;
}

Result<FilePath> FilePath::parse(const std::string& path) {
  FilePath parsed;
  for (size_t i = 0; i < path.size(); ++i) {
    std::string& out = parsed.per_frame_ ? parsed.after_ : parsed.before_;
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    if (++i < path.size() && path[i] == '%') {
      out += '%';
      continue;
    }
    if (parsed.per_frame_) return invalid(path, "has more than one % conversion");
    if (i < path.size() && path[i] == '0') parsed.fill_ = '0';
    uint32_t digits = 0;
    for (; i < path.size() && is_digit(path[i]); ++i) digits = std::min(digits * 10 + (path[i] - '0'), 1000U);
    if (i >= path.size() || (path[i] != 'd' && path[i] != 'u'))
      return invalid(path, "has a % that is no integer conversion such as %d or %06d (write %% for a per cent sign)");
    if (digits > kMostDigits) return invalid(path, "asks for more than 20 digits");
    parsed.per_frame_ = true;
    parsed.digits_ = std::max(1U, digits);
  }
  const std::string whole = parsed.before_ + (parsed.per_frame_ ? "0" : "") + parsed.after_;
  if (name_start(whole) == whole.size()) return invalid(path, "names no file");
  if (parsed.after_.find('/') != std::string::npos) return invalid(path, "has its conversion in a directory's name");
  return parsed;
}

std::string FilePath::of_frame(uint64_t sequence) const {
  std::string number = std::to_string(sequence);
  if (number.size() < digits_) number.insert(0, digits_ - number.size(), fill_);
  return before_ + number + after_;
}

std::string FilePath::of_part(uint32_t part) const {
  if (part <= 1) return before_;
  const size_t dot = extension_start(before_);
  return before_.substr(0, dot) + "-" + std::to_string(part) + before_.substr(dot);
}

std::string FilePath::of_recovered(uint32_t number) const {
  const size_t dot = extension_start(before_);
  return before_.substr(0, dot) + ".recovered-" + std::to_string(number) + before_.substr(dot);
}

std::string FilePath::directory() const {
  const size_t name = name_start(before_);
  if (name == 0) return ".";
  return name == 1 ? "/" : before_.substr(0, name - 1);
}

std::string FilePath::extension() const {
  const std::string whole = before_ + after_;
  return whole.substr(extension_start(whole));
}

std::optional<uint64_t> FilePath::number_in(const std::string& entry, const std::string& suffix) const {
  const std::string start = before_.substr(name_start(before_));
  const std::string end = after_ + suffix;
  if (entry.size() <= start.size() + end.size()) return std::nullopt;
  if (!entry.starts_with(start) || !entry.ends_with(end)) return std::nullopt;
  const std::string number = entry.substr(start.size(), entry.size() - start.size() - end.size());
  const size_t first = std::min(number.find_first_not_of(fill_), number.size() - 1);
  const std::optional<uint64_t> value = number_of(number.substr(first));
  return value && of_frame(*value).substr(name_start(before_)) == start + number + after_ ? value : std::nullopt;
}

std::optional<uint64_t> FilePath::frame_of(const std::string& entry) const {
  return number_in(entry, "");
}

bool FilePath::is_temporary_of_frame(const std::string& entry) const {
  return number_in(entry, kTemporarySuffix).has_value();
}

std::optional<uint32_t> FilePath::part_of_temporary(const std::string& entry) const {
  const std::string name = before_.substr(name_start(before_));
  if (entry == temporary_name(name)) return 1;
  const size_t dot = extension_start(name);
  const std::string start = name.substr(0, dot) + "-";
  const std::string end = temporary_name(name.substr(dot));
  if (entry.size() <= start.size() + end.size()) return std::nullopt;
  if (!entry.starts_with(start) || !entry.ends_with(end)) return std::nullopt;
  const std::optional<uint64_t> part = number_of(entry.substr(start.size(), entry.size() - start.size() - end.size()));
  if (!part || *part < 2 || *part > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*part);
}

}  // namespace framelane::io
