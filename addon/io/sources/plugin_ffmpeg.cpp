// Source `ffmpeg`: any film, camera or stream that FFmpeg's libraries open. A plug-in: see io/plugin.h.
extern "C" {
#include <libavutil/avutil.h>
}

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "io/fields.h"
#include "io/plugin.h"
#include "io/sources/played_source.h"
#include "io/sources/plugin_ffmpeg_reader.h"
#include "io/sources/plugin_ffmpeg_scaler.h"

namespace framelane::io {
namespace {

constexpr MonotonicNs kLargestJumpNs = 10'000'000'000;  // of a film's own clock; more is another clock
constexpr uint32_t kMostCorruptAtStart = 256;

struct FfmpegConfig {
  ffmpeg::ReaderConfig reader;
  std::optional<PixelFormat> format;
  PlayConfig play;
};

// Thread-safety: see PlayedSource.
class FfmpegSource final : public PlayedSource {
 public:
  explicit FfmpegSource(FfmpegConfig config)
      : PlayedSource("fl-ffmpeg", config.play), config_(std::move(config)), reader_(config_.reader, stop_flag()) {}
  ~FfmpegSource() override { stop(); }

  Result<FrameFormat> open() override;
  SourceTraits traits() const noexcept override;
  Status announce(Ring&) override;
  void close() noexcept override;
  void interrupt() noexcept override { reader_.interrupt(); }

 private:
  Result<FrameFormat> open_and_decode();
  Step advance() override;
  void hold(const AVFrame& frame) noexcept;
  MonotonicNs media_time_ns() const noexcept override { return media_ns_; }
  Step fill(std::byte* slot, FrameMeta& meta) override;
  void skip() noexcept override;
  bool rewind() override;
  FrameFormat next_format() const noexcept override { return format_of(*frame_); }
  bool paced() const noexcept override { return PlayedSource::paced() && !reader_.live(); }
  [[nodiscard]] FrameFormat format_of(const AVFrame& frame) const noexcept;
  [[nodiscard]] MonotonicNs period_ns() const noexcept;

  const FfmpegConfig config_;
  ffmpeg::Reader reader_;
  ffmpeg::Scaler scaler_;
  std::unique_ptr<AVFrame, ffmpeg::FrameDeleter> frame_;
  bool held_ = false;   // frame_ is the next frame
  FrameFormat format_;  // that the slots hold
  uint32_t corrupt_at_start_ = 0;
  MonotonicNs media_ns_ = 0;   // of frame_; never goes back
  MonotonicNs offset_ns_ = 0;  // from the film's own clock
  bool first_ = true;
};

SourceTraits FfmpegSource::traits() const noexcept {
  const bool max = config_.play.pace == Pace::max;
  return {.live = reader_.live() && !max, .paced_max = max, .expected_fps = max ? 0 : reader_.fps()};
}

MonotonicNs FfmpegSource::period_ns() const noexcept {
  return frame_time_ns(1, reader_.fps() > 0 ? reader_.fps() : kDefaultFps);
}

FrameFormat FfmpegSource::format_of(const AVFrame& frame) const noexcept {
  const bool grey = ffmpeg::is_grey(static_cast<AVPixelFormat>(frame.format));
  const PixelFormat pixel = config_.format.value_or(grey ? PixelFormat::mono8 : PixelFormat::rgb8);
  return FrameFormat::packed(pixel, static_cast<uint32_t>(frame.width), static_cast<uint32_t>(frame.height));
}

Result<FrameFormat> FfmpegSource::open() {
  Result<FrameFormat> opened = open_and_decode();
  reader_.forget_interrupt();
  if (!opened) close();
  return opened;
}

// The first frame is decoded here and held: only it says for certain what the slots must hold.
Result<FrameFormat> FfmpegSource::open_and_decode() {
  const std::string& url = config_.reader.url;
  stop_flag().rearm();
  frame_.reset(av_frame_alloc());
  if (!frame_) return Error{ErrorCode::out_of_memory, "no memory for a frame of " + url};
  if (Status opened = reader_.open(); !opened) return opened.error();
  begin_play();
  held_ = false;
  first_ = true;
  media_ns_ = 0;
  for (corrupt_at_start_ = 0; corrupt_at_start_ <= kMostCorruptAtStart; ++corrupt_at_start_) {
    const ffmpeg::Got got = reader_.next(frame_.get());
    if (got == ffmpeg::Got::corrupt) continue;
    if (got == ffmpeg::Got::failed) return reader_.error();
    if (got == ffmpeg::Got::stopped) return Error{ErrorCode::source_unavailable, "opening " + url + " was interrupted"};
    if (got == ffmpeg::Got::end) break;
    hold(*frame_);
    format_ = format_of(*frame_);
    return format_;
  }
  return Error{ErrorCode::source_malformed, url + " holds no frame that can be decoded"};
}

Status FfmpegSource::announce(Ring&) {
  if (held_) format_ = format_of(*frame_);
  return {};
}

void FfmpegSource::close() noexcept {
  held_ = false;
  frame_.reset();
  reader_.close();
}

void FfmpegSource::hold(const AVFrame& frame) noexcept {
  held_ = true;
  const MonotonicNs expected_ns = first_ ? 0 : media_ns_ + period_ns();
  MonotonicNs due_ns = expected_ns;
  if (frame.best_effort_timestamp != AV_NOPTS_VALUE) {
    const MonotonicNs own_ns = av_rescale_q(frame.best_effort_timestamp, reader_.time_base(), {1, 1'000'000'000});
    if (first_) offset_ns_ = -own_ns;
    due_ns = own_ns + offset_ns_;
    if (due_ns < media_ns_ || due_ns - media_ns_ > kLargestJumpNs) {
      // The film's clock jumps: back to the start in a loop, or a new part with a clock of its own.
      offset_ns_ = expected_ns - own_ns;
      due_ns = expected_ns;
    }
  }
  media_ns_ = due_ns;
  first_ = false;
}

Step FfmpegSource::advance() {
  if (corrupt_at_start_ > 0) {
    --corrupt_at_start_;
    error_ = {ErrorCode::source_malformed, config_.reader.url + ": a frame at the start cannot be decoded"};
    return Step::incomplete;
  }
  if (!held_) {
    switch (reader_.next(frame_.get())) {
      case ffmpeg::Got::frame: hold(*frame_); break;
      case ffmpeg::Got::corrupt: error_ = reader_.error(); return Step::incomplete;
      case ffmpeg::Got::end: return Step::end;
      case ffmpeg::Got::stopped: return Step::stopped;
      case ffmpeg::Got::failed: error_ = reader_.error(); return Step::failed;
    }
  }
  return format_of(*frame_) == format_ ? Step::frame : Step::format_changed;
}

Step FfmpegSource::fill(std::byte* slot, FrameMeta& meta) {
  Status converted = scaler_.convert(*frame_, format_, slot);
  if (!converted) {
    error_ = {converted.error().code, config_.reader.url + ": " + converted.error().message};
    return Step::failed;
  }
  meta.width = format_.width;
  meta.height = format_.height;
  meta.size_bytes = format_.bytes();
  meta.device_timestamp_ns = media_ns_;
  skip();
  return Step::frame;
}

void FfmpegSource::skip() noexcept {
  av_frame_unref(frame_.get());
  held_ = false;
}

bool FfmpegSource::rewind() {
  Status rewound = reader_.rewind();
  if (rewound) return true;
  error_ = rewound.error();
  return false;
}

Result<std::unique_ptr<Source>> make_ffmpeg_source(const Fields& fields, const std::optional<Phase>& phase) {
  FieldReader reader("ffmpeg", fields);
  FfmpegConfig config;
  config.reader.url = reader.text("url");
  config.reader.timeout_ns = static_cast<int64_t>(reader.number_or("timeout", 0.01, 3600, 10) * 1e9);
  config.reader.threads = static_cast<int>(reader.whole_or("threads", 1, 16, 2));
  config.format = reader.pixel_format("format");
  config.play.loop = reader.flag_or("loop", false);
  config.play.pace = static_cast<Pace>(reader.choice_or("pace", {"realtime", "max"}, 0));
  config.play.phase = phase;
  if (config.format && !ffmpeg::av_format_of(*config.format))
    reader.refuse("FFmpeg cannot deliver " + std::string(info(*config.format).name) + ": use rgb32f_planar");
  if (Status read = reader.finish(); !read) return read.error();
  ffmpeg::quiet_log();
  std::unique_ptr<Source> source = std::make_unique<FfmpegSource>(std::move(config));
  return source;
}

}  // namespace
}  // namespace framelane::io

extern "C" __attribute__((visibility("default"))) const framelane::io::PluginInterface framelane_plugin;
const framelane::io::PluginInterface framelane_plugin{FRAMELANE_PLUGIN_ABI, av_version_info(),
                                                      &framelane::io::make_ffmpeg_source};
