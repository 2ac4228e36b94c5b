#include "io/sources/y4m.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/fields.h"
#include "io/file_reader.h"
#include "io/sources/played_source.h"
#include "io/sources/y4m_header.h"
#include "io/yuv_rows.h"

namespace framelane::io {
namespace {

struct Y4mConfig {
  std::string path;
  std::optional<double> fps;
  std::optional<PixelFormat> format;
  PlayConfig play;
};

// Thread-safety: see PlayedSource.
class Y4mSource final : public PlayedSource {
 public:
  explicit Y4mSource(Y4mConfig config) : PlayedSource("fl-y4m", config.play), config_(std::move(config)) {}
  ~Y4mSource() override { stop(); }

  Result<FrameFormat> open() override;
  SourceTraits traits() const noexcept override;
  Status announce(Ring&) override { return {}; }
  void close() noexcept override { file_.close(); }
  void interrupt() noexcept override {}

 private:
  Status read_header();
  Status choose_format();
  Status prepare_colour();
  Result<std::string_view> read_line(uint64_t offset, size_t most_bytes);
  Step advance() override;
  Step partial(uint64_t got, uint64_t wanted);
  MonotonicNs media_time_ns() const noexcept override { return frame_time_ns(played_, fps_); }
  Step fill(std::byte* slot, FrameMeta& meta) override;
  void convert(uint8_t* rgb) noexcept;
  void skip() noexcept override;
  bool rewind() override;
  FrameFormat next_format() const noexcept override { return format_; }

  const Y4mConfig config_;
  FileReader file_;
  Y4mHeader header_;
  FrameFormat format_;
  double fps_ = kDefaultFps;
  std::optional<YuvConverter> converter_;
  std::vector<uint8_t> planes_;           // one frame as in the file
  std::vector<uint8_t> cb_row_, cr_row_;  // chroma of one row, one sample per pixel
  std::array<char, kMostHeaderBytes> line_{};

  uint64_t first_frame_ = 0;  // offset of the first FRAME line
  uint64_t offset_ = 0;       // of the next FRAME line
  uint64_t pixels_at_ = 0;    // of the frame that advance() found; 0: none
  uint64_t played_ = 0;       // frames before the next one, over all loops
  bool counted_partial_ = false;
};

SourceTraits Y4mSource::traits() const noexcept {
  const bool max = config_.play.pace == Pace::max;
  return {.live = false, .paced_max = max, .expected_fps = max ? 0 : fps_};
}

// The line without its newline; empty data() where there is no newline within `most_bytes` or the file ends.
Result<std::string_view> Y4mSource::read_line(uint64_t offset, size_t most_bytes) {
  const Result<size_t> got = file_.read_at(offset, reinterpret_cast<std::byte*>(line_.data()), most_bytes);
  if (!got) return got.error();
  const std::string_view read(line_.data(), got.value());
  const size_t end = read.find('\n');
  return end == std::string_view::npos ? std::string_view() : read.substr(0, end);
}

Status Y4mSource::read_header() {
  const Result<std::string_view> line = read_line(0, kMostHeaderBytes);
  if (!line) return line.error();
  if (line.value().data() == nullptr)
    return Error{ErrorCode::source_malformed, file_.path() + ": has no YUV4MPEG2 header line of at most " +
                                                  std::to_string(kMostHeaderBytes) + " bytes"};
  Result<Y4mHeader> header = parse_y4m_header(line.value());
  if (!header) return Error{header.error().code, file_.path() + ": " + header.error().message};
  header_ = header.value();
  first_frame_ = line.value().size() + 1;
  return {};
}

Status Y4mSource::choose_format() {
  const PixelFormat own = header_.colour()                      ? PixelFormat::rgb8
                          : header_.chroma == Y4mChroma::mono16 ? PixelFormat::mono16
                                                                : PixelFormat::mono8;
  const PixelFormat wanted = config_.format.value_or(own);
  const bool luma_only = header_.colour() && wanted == PixelFormat::mono8;
  if (wanted != own && !luma_only)
    return Error{ErrorCode::unsupported, file_.path() + " is " + std::string(info(own).name) +
                                             " and cannot be delivered as " + std::string(info(wanted).name)};
  format_ = FrameFormat::packed(wanted, header_.width, header_.height);
  return {};
}

Status Y4mSource::prepare_colour() {
  converter_.emplace(standard_for_rows(header_.height), header_.range);
  try {
    planes_.resize(format_.pixel == PixelFormat::rgb8 ? header_.frame_bytes() : 0);
    cb_row_.resize(header_.width);
    cr_row_.resize(header_.width);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, file_.path() + ": no memory for a frame of " + format_.describe()};
  }
  return {};
}

Result<FrameFormat> Y4mSource::open() {
  if (Status opened = file_.open(config_.path); !opened) return opened.error();
  if (Status read = read_header(); !read) return read.error();
  if (Status chosen = choose_format(); !chosen) return chosen.error();
  const Result<uint64_t> size = file_.size_bytes();
  if (!size) return size.error();
  // Before memory is asked for: a few bytes cannot claim a frame of gigabytes.
  if (size.value() < first_frame_ + header_.frame_bytes())
    return Error{ErrorCode::source_malformed, file_.path() + " holds no whole frame: " + std::to_string(size.value()) +
                                                  " bytes, a frame has " + std::to_string(header_.frame_bytes())};
  if (Status prepared = prepare_colour(); !prepared) return prepared.error();
  fps_ = config_.fps.value_or(header_.fps > 0 ? header_.fps : kDefaultFps);
  begin_play();
  offset_ = first_frame_;
  pixels_at_ = 0;
  played_ = 0;
  counted_partial_ = false;
  return format_;
}

Step Y4mSource::partial(uint64_t got, uint64_t wanted) {
  if (std::exchange(counted_partial_, true)) return Step::end;
  error_ = {ErrorCode::source_malformed,
            file_.path() + " ends within a frame: " + std::to_string(got) + " of " + std::to_string(wanted) + " bytes"};
  return Step::incomplete;
}

Step Y4mSource::advance() {
  if (pixels_at_ != 0) return Step::frame;
  const Result<uint64_t> size = file_.size_bytes();
  const Result<std::string_view> line = read_line(offset_, kMostFrameLineBytes);
  if (!size || !line) {
    error_ = size ? line.error() : size.error();
    return Step::failed;
  }
  if (size.value() <= offset_) return Step::end;
  const uint64_t left = size.value() - offset_;
  if (line.value().data() == nullptr && left < kMostFrameLineBytes) return partial(left, header_.frame_bytes());
  if (!is_y4m_frame_line(line.value())) {
    error_ = {ErrorCode::source_malformed,
              file_.path() + ": no FRAME line at byte " + std::to_string(offset_) + ": the file is damaged"};
    return Step::failed;
  }
  const uint64_t line_bytes = line.value().size() + 1;
  if (left < line_bytes) return Step::end;  // it shrinks while it is read
  if (left - line_bytes < header_.frame_bytes()) return partial(left - line_bytes, header_.frame_bytes());
  pixels_at_ = offset_ + line_bytes;
  return Step::frame;
}

Step Y4mSource::fill(std::byte* slot, FrameMeta& meta) {
  const bool convert_colour = format_.pixel == PixelFormat::rgb8;
  std::byte* const to = convert_colour ? reinterpret_cast<std::byte*>(planes_.data()) : slot;
  const size_t wanted = convert_colour ? header_.frame_bytes() : header_.luma_bytes();
  const Result<size_t> got = file_.read_at(pixels_at_, to, wanted);
  if (!got) {
    error_ = got.error();
    return Step::failed;
  }
  skip();
  if (got.value() < wanted) {
    error_ = {ErrorCode::source_malformed, file_.path() + " became shorter while it was played"};
    return Step::incomplete;
  }
  if (convert_colour)
    convert(reinterpret_cast<uint8_t*>(slot));
  else if (header_.range == YuvRange::limited && format_.pixel == PixelFormat::mono8)
    converter_->luma_to_grey(reinterpret_cast<uint8_t*>(slot), wanted);
  meta.width = format_.width;
  meta.height = format_.height;
  meta.size_bytes = format_.bytes();
  return Step::frame;
}

void Y4mSource::convert(uint8_t* rgb) noexcept {
  const size_t chroma_width = header_.chroma_width();
  const uint8_t* const cb = planes_.data() + header_.luma_bytes();
  const uint8_t* const cr = cb + chroma_width * header_.chroma_height();
  const uint32_t rows_per_chroma = header_.chroma == Y4mChroma::c420 ? 2 : 1;
  for (uint32_t y = 0; y < header_.height; ++y) {
    const uint8_t* u = cb + y / rows_per_chroma * chroma_width;
    const uint8_t* v = cr + y / rows_per_chroma * chroma_width;
    if (header_.chroma != Y4mChroma::c444) {
      double_row(u, cb_row_.data(), header_.width);
      double_row(v, cr_row_.data(), header_.width);
      u = cb_row_.data();
      v = cr_row_.data();
    }
    converter_->to_rgb(planes_.data() + size_t{y} * header_.width, u, v, rgb + y * format_.row_stride_bytes,
                       header_.width);
  }
}

void Y4mSource::skip() noexcept {
  offset_ = pixels_at_ + header_.frame_bytes();
  pixels_at_ = 0;
  ++played_;
}

bool Y4mSource::rewind() {
  offset_ = first_frame_;
  pixels_at_ = 0;
  return true;
}

}  // namespace

Result<std::unique_ptr<Source>> make_y4m_source(const Fields& fields, const std::optional<Phase>& phase) {
  FieldReader reader("y4m", fields);
  Y4mConfig config;
  config.path = reader.text("path");
  config.format = reader.pixel_format("format");
  if (reader.has("fps")) config.fps = reader.number_or("fps", 0.001, 100'000, kDefaultFps);
  config.play.loop = reader.flag_or("loop", false);
  config.play.pace = static_cast<Pace>(reader.choice_or("pace", {"realtime", "max"}, 0));
  config.play.phase = phase;
  if (Status read = reader.finish(); !read) return read.error();
  std::unique_ptr<Source> source = std::make_unique<Y4mSource>(std::move(config));
  return source;
}

}  // namespace framelane::io
