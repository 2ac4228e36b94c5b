#include "io/sinks/file.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/fields.h"
#include "io/sinks/file_path.h"
#include "io/sinks/frame_encoder.h"
#include "io/sinks/pending_file.h"

namespace framelane::io {
namespace {

constexpr uint32_t kMostParts = 99'999;  // of one path; the last of them is an error, no file is replaced

struct FileConfig {
  FilePath path;
  FileFormat format = FileFormat::raw;
  double fps = 25;
  bool sync = false;
};

bool is_free(const std::string& name) noexcept {
  struct stat found{};
  return ::lstat(name.c_str(), &found) != 0 && errno == ENOENT;
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), &::closedir);
  if (!entries) return names;  // creating a file will say why
  while (const dirent* entry = ::readdir(entries.get())) names.emplace_back(entry->d_name);
  return names;
}

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
  void open_for_frames();
  [[nodiscard]] Status recover_leftovers() const;
  [[nodiscard]] uint32_t free_part() const;
  [[nodiscard]] std::string free_recovered_name() const;
  [[nodiscard]] uint64_t number_of(uint64_t sequence);
  Status create(const std::string& path);
  Status append(const ResultFrame& frame);

  const FileConfig config_;
  FrameEncoder encoder_;
  PendingFile file_;
  bool holds_frames_ = false;       // the one file of all frames holds at least one
  uint64_t first_free_number_ = 0;  // one file per frame: above all that are there
  uint64_t number_offset_ = 0;      // from a frame's sequence to its file's number
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

// Removes what a crash left half-written, and finds the numbers that are taken.
void FileSink::open_for_frames() {
  const std::string directory = config_.path.directory();
  first_free_number_ = 0;
  number_offset_ = 0;
  for (const std::string& entry : entries_of(directory)) {
    if (config_.path.is_temporary_of_frame(entry)) ::unlink((directory + "/" + entry).c_str());
    if (const auto number = config_.path.frame_of(entry))
      first_free_number_ = std::max(first_free_number_, *number + 1);
  }
}

// A frame's number is its sequence, except where that is taken: after a restart the numbers go on.
uint64_t FileSink::number_of(uint64_t sequence) {
  if (sequence + number_offset_ < first_free_number_) number_offset_ = first_free_number_ - sequence;
  first_free_number_ = sequence + number_offset_ + 1;
  return sequence + number_offset_;
}

// Unfinished files of a process that died, whichever of the names it had come to.
Status FileSink::recover_leftovers() const {
  for (const std::string& entry : entries_of(config_.path.directory())) {
    const std::optional<uint32_t> part = config_.path.part_of_temporary(entry);
    if (!part) continue;
    const std::string path = config_.path.of_part(*part);
    if (Status kept = PendingFile::recover(path, free_recovered_name(), encoder_.header().size()); !kept) return kept;
  }
  return {};
}

uint32_t FileSink::free_part() const {
  struct stat found{};
  const bool there = ::stat(config_.path.of_part(1).c_str(), &found) == 0;
  if (there && !S_ISREG(found.st_mode)) return 1;  // creating it will say what it is
  uint32_t part = 1;
  while (part < kMostParts && !is_free(config_.path.of_part(part))) ++part;
  return part;
}

std::string FileSink::free_recovered_name() const {
  uint32_t number = 1;
  while (number < kMostParts && !is_free(config_.path.of_recovered(number))) ++number;
  return config_.path.of_recovered(number);
}

Status FileSink::create(const std::string& path) {
  const std::string& header = encoder_.header();
  if (Status created = file_.create(path); !created) return created;
  Status written = file_.append(reinterpret_cast<const std::byte*>(header.data()), header.size());
  if (!written) file_.abandon();
  return written;
}

Status FileSink::open(const FrameFormat& format) {
  if (Status closed = close(); !closed) return closed;
  if (Status opened = encoder_.open(format); !opened) return opened;
  if (Status there = check_directory(); !there) return there;
  if (config_.path.per_frame()) {
    open_for_frames();
    return {};
  }
  holds_frames_ = false;
  if (Status recovered = recover_leftovers(); !recovered) return recovered;
  return create(config_.path.of_part(free_part()));
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
    if (written) holds_frames_ = true;
    return written;
  }
  if (Status created = create(config_.path.of_frame(number_of(frame.sequence))); !created) return created;
  Status written = append(frame);
  if (!written) {
    file_.abandon();
    return written;
  }
  return file_.commit(config_.sync ? PendingFile::Durable::yes : PendingFile::Durable::no);
}

Status FileSink::close() {
  if (!file_.is_open()) return {};
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
