// A shm source that brings its producer along, for the suite that every source passes.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "framelane/shm_ring.h"
#include "io/sources/shm.h"

namespace framelane::io::test {

// Thread-safety: see Source; the producer is a thread of its own that comes again whenever it is dropped.
class FedShmSource final : public Source {
 public:
  FedShmSource() : path_(next_path()), source_(make_shm_source(ShmSourceConfig{.path = path_}).take()) {
    producer_ = std::thread([this] { produce(); });
  }
  ~FedShmSource() override {
    done_ = true;
    source_.reset();
    producer_.join();
  }

  Result<FrameFormat> open() override { return source_->open(); }
  SourceTraits traits() const noexcept override { return source_->traits(); }
  Status announce(Ring& ring) override { return source_->announce(ring); }
  Status start(FramePort& port) override { return source_->start(port); }
  void look(FramePort& port) noexcept override { source_->look(port); }
  void stop() noexcept override { source_->stop(); }
  void close() noexcept override { source_->close(); }
  void interrupt() noexcept override { source_->interrupt(); }

 private:
  static std::string next_path() {
    static std::atomic<int> number{0};
    return "@framelane-conformance-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  }
  void produce() {
    while (!done_) {
      framelane_shm_producer producer;
      if (framelane_shm_open(&producer, path_.c_str(), "rgb8", 16, 8, 0, "fed", 100) != 0) continue;
      framelane_shm_frame frame;
      for (int code = 0; code != -EPIPE && !done_;) {
        code = framelane_shm_acquire(&producer, 100, &frame);
        if (code == 0) code = framelane_shm_submit(&producer, &frame);
      }
      framelane_shm_close(&producer);
    }
  }

  const std::string path_;
  std::unique_ptr<Source> source_;
  std::atomic<bool> done_{false};
  std::thread producer_;
};

}  // namespace framelane::io::test
