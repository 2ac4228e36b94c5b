// Where the `file` sink writes: one file, or one file per frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace framelane::io {

// A path with at most one integer conversion (%d, %6d, %06d, %u); "%%" stands for a per cent sign.
// Never given to printf: what stands in a configuration is no format string.
// Thread-safety: a value.
class FilePath {
 public:
  [[nodiscard]] static Result<FilePath> parse(const std::string& path);

  [[nodiscard]] bool per_frame() const noexcept { return per_frame_; }
  [[nodiscard]] std::string of_frame(uint64_t sequence) const;

  // "film.y4m", "film-2.y4m", ...: the names that one path stands for, so that no file replaces another.
  [[nodiscard]] std::string of_part(uint32_t part) const;
  // Where a crashed run's unfinished file goes: "film.recovered-1.y4m". Counted from 1.
  [[nodiscard]] std::string of_recovered(uint32_t number) const;

  [[nodiscard]] std::string directory() const;  // "." where the path names none
  [[nodiscard]] std::string extension() const;  // ".y4m", "" where there is none

  // What an entry of directory() is; nothing where it is something else.
  [[nodiscard]] std::optional<uint64_t> frame_of(const std::string& entry) const;  // complete: its number
  [[nodiscard]] bool is_temporary_of_frame(const std::string& entry) const;
  [[nodiscard]] std::optional<uint32_t> part_of_temporary(const std::string& entry) const;  // see of_part()

 private:
  // The number between the path's two halves, where the entry is called so and `suffix` follows.
  [[nodiscard]] std::optional<uint64_t> number_in(const std::string& entry, const std::string& suffix) const;

  std::string before_;  // of the conversion; the whole path where there is none
  std::string after_;
  bool per_frame_ = false;
  uint32_t digits_ = 1;  // at least so many
  char fill_ = ' ';
};

// What an unfinished file is called until it is complete.
[[nodiscard]] std::string temporary_name(const std::string& path);

}  // namespace framelane::io
