#include "io/sinks/file.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include "io/fields.h"
#include "io/sinks/file_path.h"
#include "io/sinks/frame_encoder.h"
#include "io/sinks/pending_file.h"

namespace framelane::io {
namespace {

constexpr uint32_t kMostRecovered = 9999;

struct FileConfig {
  FilePath path;
  FileFormat format = FileFormat::raw;
  double fps = 25;
  bool sync = false;
  // Files of this run that hold frames; shared by all sinks that one SinkSpec makes, so that a re-opened
  // sink never replaces what it wrote before. A number is taken when the first frame is written.
  std::shared_ptr<std::atomic<uint32_t>> parts = std::make_shared<std::atomic<uint32_t>>(0);
};

// Thread-safety: see Sink; everything here belongs to the sink's thread.
class FileSink final : public Sink {
 public:
  explicit FileSink(FileConfig config) : config_(std::move(config)), encoder_(config_.format, config_.fps) {}
  ~FileSink() override { (void)close(); }

  Status open(const FrameFormat& format) override;
  Status write(const ResultFrame& frame) override;
  Status close() override;

 private:
  [[nodiscard]] Status check_directory() const;
  void remove_leftovers() const;
  [[nodiscard]] std::string free_recovered_name() const;
  Status create(const std::string& path, const std::string& keep_as);
  Status append(const ResultFrame& frame);

  const FileConfig config_;
  FrameEncoder encoder_;
  PendingFile file_;
  bool holds_frames_ = false;  // the one file of all frames holds at least one
};

Status FileSink::check_directory() const {
  const std::string directory = config_.path.directory();
  struct stat found{};
  if (::stat(directory.c_str(), &found) != 0)
    return Error{ErrorCode::sink_failed, with_errno("cannot write into the directory " + directory, errno)};
  if (!S_ISDIR(found.st_mode))
    return Error{ErrorCode::sink_failed, with_errno("cannot write into " + directory, ENOTDIR)};
  return {};
}

void FileSink::remove_leftovers() const {
  const std::string directory = config_.path.directory();
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), &::closedir);
  if (!entries) return;  // creating a file will say why
  while (const dirent* entry = ::readdir(entries.get())) {
    if (config_.path.is_temporary_of_frame(entry->d_name)) ::unlink((directory + "/" + entry->d_name).c_str());
  }
}

std::string FileSink::free_recovered_name() const {
  struct stat found{};
  for (uint32_t number = 1; number < kMostRecovered; ++number) {
    std::string name = config_.path.of_recovered(number);
    if (::lstat(name.c_str(), &found) != 0 && errno == ENOENT) return name;
  }
  return config_.path.of_recovered(kMostRecovered);
}

Status FileSink::create(const std::string& path, const std::string& keep_as) {
  const std::string& header = encoder_.header();
  if (Status created = file_.create(path, keep_as, header.size()); !created) return created;
  Status written = file_.append(reinterpret_cast<const std::byte*>(header.data()), header.size());
  if (!written) file_.abandon();
  return written;
}

Status FileSink::open(const FrameFormat& format) {
  if (Status closed = close(); !closed) return closed;
  if (Status opened = encoder_.open(format); !opened) return opened;
  if (Status there = check_directory(); !there) return there;
  if (config_.path.per_frame()) {
    remove_leftovers();
    return {};
  }
  holds_frames_ = false;
  const std::string path = config_.path.of_part(config_.parts->load() + 1);
  return create(path, free_recovered_name());
}

Status FileSink::append(const ResultFrame& frame) {
  const off_t before = file_.size();
  Status written = encoder_.write(frame.view, file_);
  if (!written) file_.cut_to(before);
  return written;
}

Status FileSink::write(const ResultFrame& frame) {
  if (!config_.path.per_frame()) {
    if (!file_.is_open()) return Error{ErrorCode::sink_failed, "the file is not open"};
    if (Status there = file_.check_name(); !there) return there;
    Status written = append(frame);
    if (written && !std::exchange(holds_frames_, true)) config_.parts->fetch_add(1);
    return written;
  }
  if (Status created = create(config_.path.of_frame(frame.sequence), ""); !created) return created;
  Status written = append(frame);
  if (!written) {
    file_.abandon();
    return written;
  }
  return file_.commit(config_.sync ? PendingFile::Durable::yes : PendingFile::Durable::no);
}

Status FileSink::close() {
  if (!file_.is_open()) return {};
  // A run without a frame leaves what was there before as it is.
  if (holds_frames_) return file_.commit(PendingFile::Durable::yes);
  file_.abandon();
  return {};
}

}  // namespace

Result<SinkSpec> make_file_sink(const Fields& fields) {
  FieldReader reader("file", fields);
  FileConfig config;
  const std::string path = reader.text("path");
  if (!path.empty()) {
    Result<FilePath> parsed = FilePath::parse(path);
    if (!parsed) return parsed.error();
    config.path = parsed.take();
  }
  const size_t by_extension = config.path.extension() == ".y4m" ? 1 : 0;
  config.format = static_cast<FileFormat>(reader.choice_or("format", {"raw", "y4m"}, by_extension));
  config.fps = reader.number_or("fps", 0.001, 100'000, 25);
  config.sync = reader.flag_or("sync", false);
  if (Status read = reader.finish(); !read) return read.error();
  SinkSpec spec;
  spec.name = "file " + path;
  spec.make = [config] { return std::make_unique<FileSink>(config); };
  spec.wants_host = true;
  return spec;
}

}  // namespace framelane::io
