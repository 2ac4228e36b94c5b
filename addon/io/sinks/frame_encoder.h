// The bytes of a frame in a file: `raw` or `y4m`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/sink.h"
#include "io/sinks/pending_file.h"
#include "io/yuv_rows.h"

namespace framelane::io {

enum class FileFormat : uint8_t { raw, y4m };

// Thread-safety: owned by a sink, used on the sink's thread. Allocates in open() only.
class FrameEncoder {
 public:
  FrameEncoder(FileFormat format, double fps) : format_(format), fps_(fps) {}

  Status open(const FrameFormat& format);  // unsupported: y4m cannot hold it
  [[nodiscard]] const std::string& header() const noexcept { return header_; }
  Status write(const FrameView& frame, PendingFile& file);

 private:
  static Status write_rows(const FrameView& frame, PendingFile& file);
  Status write_colour(const FrameView& frame, PendingFile& file);

  const FileFormat format_;
  const double fps_;
  FrameFormat opened_;
  std::string header_;  // of the file; empty for raw
  std::optional<YuvConverter> converter_;
  std::vector<uint8_t> planes_;  // Y, Cb, Cr of one frame
};

}  // namespace framelane::io
