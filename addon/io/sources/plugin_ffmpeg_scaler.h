// From FFmpeg's pixel formats into a slot.
#pragma once

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
#include <libswscale/swscale.h>
}

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/format.h"

namespace framelane::io::ffmpeg {

// What the libraries call a format; empty where they cannot write it.
[[nodiscard]] std::optional<AVPixelFormat> av_format_of(PixelFormat format) noexcept;
[[nodiscard]] bool is_grey(AVPixelFormat format) noexcept;

struct ScalerDeleter {
  void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
};
struct AvFreeDeleter {
  void operator()(uint8_t* memory) const noexcept;
};

// Thread-safety: owned by a source, used on its delivering thread.
class Scaler {
 public:
  // Writes the frame, whose extent is the format's, into the slot. Prepares itself anew where the frame's kind
  // is not that of the frame before.
  Status convert(const AVFrame& frame, const FrameFormat& format, std::byte* slot);

 private:
  struct Kind {
    int width = 0, height = 0, pixel = -1, colour_space = 0, range = 0;
    PixelFormat to = PixelFormat::mono8;
    bool operator==(const Kind&) const = default;
  };
  Status prepare(const AVFrame& frame, const FrameFormat& format);

  std::optional<Kind> kind_;
  std::unique_ptr<SwsContext, ScalerDeleter> context_;
  // The scaler's vector code writes whole vectors: past the end of a row whose length is no multiple of
  // them, and at the last row into the next slot. Such frames go through rows with room at the end.
  std::unique_ptr<uint8_t, AvFreeDeleter> rows_;
  size_t rows_stride_bytes_ = 0;  // 0: straight into the slot
};

}  // namespace framelane::io::ffmpeg
