#include "io/sinks/compare.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "io/difference.h"
#include "io/fields.h"
#include "io/shm/unique_fd.h"
#include "io/sources/pattern_stamp.h"

namespace framelane::io {
namespace {

// Columns and rows, from the first, that the stamp may have changed: its own and what a pyramid of a few levels
// spreads.
constexpr size_t kStampedColumns = 160, kStampedRows = 144;

struct CompareConfig {
  std::string path;
  int tolerance = 1;  // grey levels
};

// The file is mapped and not read: many channels share one.
// Thread-safety: see Sink.
class CompareSink final : public Sink {
 public:
  explicit CompareSink(CompareConfig config) : config_(std::move(config)) {}
  ~CompareSink() override { unmap(); }

  Status open(const FrameFormat& format) override;
  Status write(const ResultFrame& frame) override;
  Status close() override {
    unmap();
    return {};
  }

 private:
  [[nodiscard]] Status map(size_t picture_bytes);
  void unmap() noexcept;
  [[nodiscard]] int difference(const std::byte* frame, const std::byte* expected) const noexcept;

  const CompareConfig config_;
  FrameFormat format_;
  const std::byte* pictures_ = nullptr;
  size_t mapped_bytes_ = 0, count_ = 0;
};

Status CompareSink::open(const FrameFormat& format) {
  unmap();
  if (info(format.pixel).type != SampleType::uint8 || format.plane_stride_bytes != 0 ||
      format != FrameFormat::packed(format.pixel, format.width, format.height))
    return Error{ErrorCode::unsupported, "it compares samples of 8 bits in one plane without padding only"};
  if (format.height <= kStampedRows || format.width <= kStampedColumns)
    return Error{ErrorCode::unsupported, "it compares frames of more than 160x144 pixels only"};
  format_ = format;
  return map(format.bytes());
}

Status CompareSink::map(size_t picture_bytes) {
  const UniqueFd file(::open(config_.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about{};
  if (!file || fstat(file.get(), &about) != 0) return Error{ErrorCode::sink_failed, with_errno(config_.path, errno)};
  const auto bytes = static_cast<size_t>(about.st_size);
  if (bytes == 0 || bytes % picture_bytes != 0)
    return Error{ErrorCode::sink_failed, config_.path + ": it does not hold whole results of this format"};
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (mapped == MAP_FAILED) return Error{ErrorCode::sink_failed, with_errno(config_.path, errno)};
  pictures_ = static_cast<const std::byte*>(mapped);
  mapped_bytes_ = bytes;
  count_ = bytes / picture_bytes;
  return {};
}

void CompareSink::unmap() noexcept {
  if (pictures_ != nullptr) munmap(const_cast<std::byte*>(pictures_), mapped_bytes_);
  pictures_ = nullptr;
}

int CompareSink::difference(const std::byte* frame, const std::byte* expected) const noexcept {
  const size_t stride = format_.row_stride_bytes, left_out = stride / format_.width * kStampedColumns;
  int worst = 0;
  for (size_t y = 0; y < kStampedRows; ++y) {
    const size_t from = y * stride + left_out;
    worst = std::max(worst, worst_difference(frame + from, expected + from, stride - left_out));
  }
  const size_t below = kStampedRows * stride;
  return std::max(worst, worst_difference(frame + below, expected + below, format_.bytes() - below));
}

Status CompareSink::write(const ResultFrame& frame) {
  const std::string name = "frame " + std::to_string(frame.meta.frame_id);
  const std::optional<uint32_t> stamp = read_stamp(frame.view.data, format_);
  if (stamp != static_cast<uint32_t>(frame.meta.frame_id))
    return Error{ErrorCode::sink_failed, name + " holds the result of frame " + std::to_string(stamp.value_or(0))};
  // One row says which picture it is; a frame that is none of them is put beside the nearest.
  const size_t bytes = format_.bytes(), row = bytes - format_.row_stride_bytes;
  const std::byte* nearest = pictures_;
  int least = 256;
  for (size_t i = 0; i < count_ && least > config_.tolerance; ++i) {
    const std::byte* const picture = pictures_ + i * bytes;
    const int worst = worst_difference(frame.view.data + row, picture + row, format_.row_stride_bytes);
    if (worst < least) {
      least = worst;
      nearest = picture;
    }
  }
  const int worst = difference(frame.view.data, nearest);
  if (worst <= config_.tolerance) return {};
  return Error{ErrorCode::sink_failed, name + " differs by " + std::to_string(worst) + " grey levels"};
}

}  // namespace

Result<SinkSpec> make_compare_sink(const Fields& fields) {
  FieldReader reader("compare", fields);
  CompareConfig config;
  config.path = reader.text("path");
  config.tolerance = static_cast<int>(reader.whole_or("tolerance", 0, 255, 1));
  if (Status read = reader.finish(); !read) return read.error();
  SinkSpec spec;
  spec.name = "compare " + config.path;
  spec.make = [config] { return std::make_unique<CompareSink>(config); };
  return spec;
}

}  // namespace framelane::io
