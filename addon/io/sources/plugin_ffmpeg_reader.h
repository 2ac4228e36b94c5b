// Demuxes and decodes one video stream with FFmpeg's libraries.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/frame.h"
#include "io/pacing.h"
#include "io/shm/unique_fd.h"

namespace framelane::io::ffmpeg {

// Everything that FFmpeg's libraries log goes nowhere but for the last error of each thread.
void quiet_log() noexcept;
// "cannot open film.mp4: Invalid data found when processing input (moov atom not found)".
[[nodiscard]] std::string describe(const std::string& what, int code);

struct FormatContextDeleter {
  void operator()(AVFormatContext* context) const noexcept { avformat_close_input(&context); }
};
struct CodecContextDeleter {
  void operator()(AVCodecContext* context) const noexcept { avcodec_free_context(&context); }
};
struct FrameDeleter {
  void operator()(AVFrame* frame) const noexcept { av_frame_free(&frame); }
};
struct PacketDeleter {
  void operator()(AVPacket* packet) const noexcept { av_packet_free(&packet); }
};

enum class Got : uint8_t { frame, corrupt, end, stopped, failed };

struct ReaderConfig {
  std::string url;
  int64_t timeout_ns = 10'000'000'000;  // of opening, and of each read
  int threads = 2;                      // of the decoder
};

// Thread-safety: owned by a source: open() on its worker thread, next() and rewind() on the delivering thread,
// never at once. interrupt() from any thread.
class Reader {
 public:
  Reader(ReaderConfig config, StopFlag& stop) : config_(std::move(config)), stop_(stop) {}

  Status open();
  void close() noexcept;
  void interrupt() noexcept { interrupted_.store(true); }
  void forget_interrupt() noexcept { interrupted_.store(false); }

  // corrupt: a frame that cannot be decoded as it was sent; failed: error() says why.
  [[nodiscard]] Got next(AVFrame* frame);
  // Back to the beginning, by seeking, else by opening it again.
  Status rewind();

  [[nodiscard]] const Error& error() const noexcept { return error_; }
  [[nodiscard]] bool live() const noexcept { return live_; }
  [[nodiscard]] double fps() const noexcept { return fps_; }  // 0: unknown
  [[nodiscard]] AVRational time_base() const noexcept { return stream_->time_base; }

 private:
  static int should_stop(void* self) noexcept;
  void arm() noexcept;
  Result<std::string> open_pipe();
  Status open_decoder();
  Got read_packet();
  Got fail(ErrorCode code, const std::string& what, int av_code);

  const ReaderConfig config_;
  StopFlag& stop_;
  std::atomic<bool> interrupted_{false};
  MonotonicNs deadline_ns_ = 0;
  MonotonicNs stop_seen_ns_ = 0;  // 0: not seen
  bool timed_out_ = false;

  UniqueFd pipe_;  // what format_ reads where the url leads to a pipe
  std::unique_ptr<AVFormatContext, FormatContextDeleter> format_;
  std::unique_ptr<AVCodecContext, CodecContextDeleter> decoder_;
  std::unique_ptr<AVPacket, PacketDeleter> packet_;
  AVStream* stream_ = nullptr;  // of format_
  bool broken_ = false;         // a read was cut off: what it had begun is lost
  uint32_t bad_packets_ = 0;    // in a row
  bool live_ = false;
  double fps_ = 0;
  Error error_;
};

}  // namespace framelane::io::ffmpeg
