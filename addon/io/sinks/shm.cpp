#include "io/sinks/shm.h"

#include <optional>
#include <utility>

#include "io/fields.h"
#include "io/shm/listener.h"
#include "io/shm/publication.h"
#include "io/shm/reader_hub.h"

namespace framelane::io {
namespace {

// One copy for each frame, into a slot of the sink's own ring; readers look on.
// Thread-safety: see Sink; the hub's thread only greets readers and sees them leave.
class ShmSink final : public Sink {
 public:
  explicit ShmSink(ShmSinkConfig config) : config_(std::move(config)) {}

  Status open(const FrameFormat& format) override {
    Result<shm::Publication> publication = shm::Publication::create(config_.path, format, config_.slots);
    if (!publication) return publication.error();
    publication_.emplace(publication.take());
    return hub_.open(config_.path, publication_->welcome(), publication_->fd());
  }

  Status write(const ResultFrame& frame) override {
    if (Status published = publication_->publish(frame); !published) return published;
    hub_.ring_bells();
    return {};
  }

  Status close() override {
    if (publication_) publication_->close();
    hub_.close();
    publication_.reset();
    return {};
  }

 private:
  const ShmSinkConfig config_;
  std::optional<shm::Publication> publication_;
  shm::ReaderHub hub_;
};

}  // namespace

std::unique_ptr<Sink> make_shm_sink(ShmSinkConfig config) {
  return std::make_unique<ShmSink>(std::move(config));
}

Result<SinkSpec> make_shm_sink(const Fields& fields) {
  FieldReader reader("shm", fields);
  ShmSinkConfig config;
  config.path = reader.text("path");
  config.slots = static_cast<uint32_t>(reader.whole_or("slots", 2, 256, config.slots));
  if (Status read = reader.finish(); !read) return read.error();
  if (Status checked = check_socket_path(config.path); !checked) return checked.error();
  SinkSpec spec;
  spec.name = "shm " + config.path;
  spec.make = [config] { return make_shm_sink(config); };
  return spec;
}

}  // namespace framelane::io
