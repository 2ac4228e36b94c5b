#include "io/sources/raw.h"

#include <string>
#include <utility>

#include "io/fields.h"
#include "io/file_reader.h"
#include "io/sources/played_source.h"

namespace framelane::io {
namespace {

struct RawConfig {
  std::string path;
  FrameFormat format;
  double fps = kDefaultFps;
  uint64_t header_bytes = 0;
  PlayConfig play;
};

// Thread-safety: see PlayedSource.
class RawSource final : public PlayedSource {
 public:
  explicit RawSource(RawConfig config)
      : PlayedSource("fl-raw", config.play), config_(std::move(config)), frame_bytes_(config_.format.bytes()) {}
  ~RawSource() override { stop(); }

  Result<FrameFormat> open() override;
  SourceTraits traits() const noexcept override;
  Status announce(Ring&) override { return {}; }
  void close() noexcept override { file_.close(); }
  void interrupt() noexcept override {}

 private:
  Step advance() override;
  MonotonicNs media_time_ns() const noexcept override { return frame_time_ns(played_, config_.fps); }
  Step fill(std::byte* slot, FrameMeta& meta) override;
  void skip() noexcept override;
  bool rewind() override;
  FrameFormat next_format() const noexcept override { return config_.format; }

  const RawConfig config_;
  const size_t frame_bytes_;
  FileReader file_;
  uint64_t offset_ = 0;           // of the next frame
  uint64_t played_ = 0;           // frames before it, over all loops
  bool counted_partial_ = false;  // the partial frame at the end is one frame, however often it is passed
};

SourceTraits RawSource::traits() const noexcept {
  const bool max = config_.play.pace == Pace::max;
  return {.live = false, .paced_max = max, .expected_fps = max ? 0 : config_.fps};
}

Result<FrameFormat> RawSource::open() {
  if (Status opened = file_.open(config_.path); !opened) return opened.error();
  const Result<uint64_t> size = file_.size_bytes();
  if (!size) return size.error();
  if (size.value() < config_.header_bytes + frame_bytes_)
    return Error{ErrorCode::source_malformed,
                 config_.path + " holds " + std::to_string(size.value()) + " bytes, not one whole frame of " +
                     config_.format.describe() + " (" + std::to_string(frame_bytes_) + " bytes" +
                     (config_.header_bytes == 0 ? "" : " after " + std::to_string(config_.header_bytes)) + ")"};
  begin_play();
  offset_ = config_.header_bytes;
  played_ = 0;
  counted_partial_ = false;
  return config_.format;
}

Step RawSource::advance() {
  const Result<uint64_t> size = file_.size_bytes();
  if (!size) {
    error_ = size.error();
    return Step::failed;
  }
  if (size.value() >= offset_ + frame_bytes_) return Step::frame;
  const uint64_t left = size.value() > offset_ ? size.value() - offset_ : 0;
  if (left == 0 || std::exchange(counted_partial_, true)) return Step::end;
  error_ = {ErrorCode::source_malformed, config_.path + " ends within a frame: " + std::to_string(left) + " of " +
                                             std::to_string(frame_bytes_) + " bytes"};
  return Step::incomplete;
}

Step RawSource::fill(std::byte* slot, FrameMeta& meta) {
  const Result<size_t> got = file_.read_at(offset_, slot, frame_bytes_);
  if (!got) {
    error_ = got.error();
    return Step::failed;
  }
  skip();
  if (got.value() < frame_bytes_) {
    error_ = {ErrorCode::source_malformed, config_.path + " became shorter while it was played"};
    return Step::incomplete;
  }
  meta.width = config_.format.width;
  meta.height = config_.format.height;
  meta.size_bytes = frame_bytes_;
  return Step::frame;
}

void RawSource::skip() noexcept {
  offset_ += frame_bytes_;
  ++played_;
}

bool RawSource::rewind() {
  offset_ = config_.header_bytes;
  return true;
}

}  // namespace

Result<std::unique_ptr<Source>> make_raw_source(const Fields& fields, const std::optional<Phase>& phase) {
  FieldReader reader("raw", fields);
  RawConfig config;
  config.path = reader.text("path");
  const auto width = static_cast<uint32_t>(reader.whole("width", 1, kLargestSide));
  const auto height = static_cast<uint32_t>(reader.whole("height", 1, kLargestSide));
  config.format = FrameFormat::packed(reader.pixel_format("format").value_or(PixelFormat::mono8), width, height);
  config.fps = reader.number_or("fps", 0.001, 100'000, kDefaultFps);
  config.header_bytes = reader.whole_or("header_bytes", 0, uint64_t{1} << 40, 0);
  config.play.loop = reader.flag_or("loop", false);
  config.play.pace = static_cast<Pace>(reader.choice_or("pace", {"realtime", "max"}, 0));
  config.play.phase = phase;
  if (Status read = reader.finish(); !read) return read.error();
  std::unique_ptr<Source> source = std::make_unique<RawSource>(std::move(config));
  return source;
}

}  // namespace framelane::io
