// A sink that may be slow or fail.
#pragma once

#include <atomic>
#include <memory>

#include "core/signal.h"
#include "core/sink.h"

namespace framelane::fakes {

// What a sink does and what a test may look at. Thread-safety: atomics.
struct SinkScript {
  std::atomic<int64_t> write_ns{0};
  std::atomic<bool> hold{false};  // write() waits while it is set
  std::atomic<bool> fail_open{false};
  std::atomic<uint64_t> fail_write_at{UINT64_MAX};  // counts writes

  std::atomic<uint64_t> opens{0};
  std::atomic<uint64_t> writes{0};
  std::atomic<uint64_t> closes{0};
  std::atomic<uint64_t> out_of_order{0};
  std::atomic<uint64_t> torn{0};
  std::atomic<uint64_t> misused{0};  // write() or close() without open()
  std::atomic<uint64_t> last_sequence{UINT64_MAX};
  std::atomic<uint64_t> last_width{0};
  std::atomic<uint64_t> last_height{0};
  Signal changed;  // after each call, and for the test to notify after a change of `hold`
};

// Thread-safety: as Sink says.
class FakeSink final : public Sink {
 public:
  explicit FakeSink(std::shared_ptr<SinkScript> script) : script_(std::move(script)) {}

  Status open(const FrameFormat& format) override {
    script_->opens.fetch_add(1);
    script_->changed.notify();
    if (script_->fail_open.load()) return Error{ErrorCode::sink_failed, "the fake does not open"};
    open_ = true;
    script_->last_width.store(format.width);
    return {};
  }
  Status write(const ResultFrame& frame) override {
    if (!open_) script_->misused.fetch_add(1);
    const int64_t write_ns = script_->write_ns.load();
    if (write_ns > 0) script_->changed.wait_until(monotonic_now_ns() + write_ns, [] { return false; });
    script_->changed.wait_until(kNoDeadline, [this] { return !script_->hold.load(); });
    const uint64_t number = script_->writes.fetch_add(1);
    look_at(frame);
    script_->changed.notify();
    if (number == script_->fail_write_at.load()) return Error{ErrorCode::io_failed, "the fake cannot write"};
    return {};
  }
  Status close() override {
    if (!open_) script_->misused.fetch_add(1);
    open_ = false;
    script_->closes.fetch_add(1);
    script_->changed.notify();
    return {};
  }

 private:
  void look_at(const ResultFrame& frame) {
    const uint64_t before = script_->last_sequence.exchange(frame.sequence);
    if (before != UINT64_MAX && frame.sequence <= before) script_->out_of_order.fetch_add(1);
    script_->last_height.store(frame.view.format.height);
    const size_t bytes = frame.view.format.row_stride_bytes * frame.view.format.height;
    for (size_t i = 0; i < bytes; ++i) {
      if (frame.view.data[i] != static_cast<std::byte>(frame.meta.frame_id & 0xff)) {
        script_->torn.fetch_add(1);
        break;
      }
    }
  }

  const std::shared_ptr<SinkScript> script_;
  bool open_ = false;
};

}  // namespace framelane::fakes
