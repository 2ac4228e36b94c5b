#include "io/sources/plugin_ffmpeg_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace framelane::io::ffmpeg {
namespace {

// A read that has begun gets so long after a stop, so that a file can go on where it was.
constexpr int64_t kStopGraceNs = 200'000'000;
constexpr int64_t kRetryNs = 5'000'000;
constexpr int kLookAgainMs = 10;  // for a stop, while nothing comes through a pipe
constexpr uint32_t kMostBadPackets = 256;

thread_local std::array<char, 256> last_log_line{};

void keep_last_line(void*, int level, const char* format, va_list arguments) noexcept {
  if (level > AV_LOG_ERROR) return;
  std::vsnprintf(last_log_line.data(), last_log_line.size(), format, arguments);
  last_log_line[std::strcspn(last_log_line.data(), "\r\n")] = '\0';
}

// What has a length is no stream that comes by itself; numbered images have no one file, but a length.
bool is_live(const AVFormatContext& format) noexcept {
  if (format.duration != AV_NOPTS_VALUE) return false;
  return format.pb == nullptr ? (format.iformat->flags & AVFMT_NOFILE) != 0 : format.pb->seekable == 0;
}

}  // namespace

void quiet_log() noexcept {
  av_log_set_callback(&keep_last_line);
}

std::string describe(const std::string& what, int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  std::string said = what + ": " + text.data();
  if (last_log_line[0] != '\0') said += std::string(" (") + last_log_line.data() + ")";
  last_log_line[0] = '\0';
  return said;
}

int Reader::should_stop(void* self) noexcept {
  auto& reader = *static_cast<Reader*>(self);
  if (reader.interrupted_.load(std::memory_order_relaxed)) return 1;
  const MonotonicNs now_ns = monotonic_now_ns();
  if (now_ns > reader.deadline_ns_) {
    reader.timed_out_ = true;
    return 1;
  }
  if (!reader.stop_.requested()) return 0;
  if (reader.stop_seen_ns_ == 0) reader.stop_seen_ns_ = now_ns;
  return now_ns - reader.stop_seen_ns_ > kStopGraceNs ? 1 : 0;
}

void Reader::arm() noexcept {
  deadline_ns_ = monotonic_now_ns() + config_.timeout_ns;
  stop_seen_ns_ = 0;
  timed_out_ = false;
  last_log_line[0] = '\0';
}

Got Reader::fail(ErrorCode code, const std::string& what, int av_code) {
  if (timed_out_)
    error_ = {code, what + ": nothing came for " + std::to_string(config_.timeout_ns / 1'000'000) + " ms"};
  else
    error_ = {code, describe(what, av_code)};
  return Got::failed;
}

void Reader::close() noexcept {
  decoder_.reset();
  format_.reset();
  pipe_.reset();
  stream_ = nullptr;
}

// What FFmpeg is to open. A pipe or a terminal holds whoever opens or reads it up for as long as nothing comes, and
// FFmpeg cannot be interrupted meanwhile; so it gets a descriptor that does not block, once something is there.
Result<std::string> Reader::open_pipe() {
  const bool scheme = config_.url.rfind("file:", 0) == 0;
  const std::string path = scheme ? config_.url.substr(5) : config_.url;
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || !(S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode))) return config_.url;
  const std::string what = "cannot open " + config_.url;
  pipe_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!pipe_) return Error{ErrorCode::source_unavailable, with_errno(what, errno)};
  pollfd something{pipe_.get(), POLLIN, 0};
  while (::poll(&something, 1, kLookAgainMs) <= 0) {
    if (should_stop(this) == 0) continue;
    fail(ErrorCode::source_unavailable, what, AVERROR_EXIT);
    return error_;
  }
  return "pipe:" + std::to_string(pipe_.get());
}

Status Reader::open() {
  close();
  arm();
  broken_ = false;
  bad_packets_ = 0;
  const std::string what = "cannot open " + config_.url;
  const Result<std::string> input = open_pipe();
  if (!input) return input.error();
  AVFormatContext* context = avformat_alloc_context();
  packet_.reset(av_packet_alloc());
  if (context == nullptr || !packet_) {
    avformat_free_context(context);
    return Error{ErrorCode::out_of_memory, what + ": no memory"};
  }
  context->interrupt_callback = {&Reader::should_stop, this};
  AVDictionary* options = nullptr;
  av_dict_set(&options, "rtsp_transport", "tcp", 0);  // loses nothing on the way; others ignore it
  int code = avformat_open_input(&context, input.value().c_str(), nullptr, &options);  // frees the context on failure
  av_dict_free(&options);
  if (code >= 0) {
    format_.reset(context);
    code = avformat_find_stream_info(context, nullptr);
  }
  if (code < 0) {
    fail(code == AVERROR_INVALIDDATA && !timed_out_ ? ErrorCode::source_malformed : ErrorCode::source_unavailable, what,
         code);
    return error_;
  }
  live_ = is_live(*format_);
  return open_decoder();
}

Status Reader::open_decoder() {
  const AVCodec* codec = nullptr;
  const int index = av_find_best_stream(format_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  if (index == AVERROR_DECODER_NOT_FOUND)
    return Error{ErrorCode::unsupported, config_.url + ": FFmpeg has no decoder for its video here"};
  if (index < 0) return Error{ErrorCode::source_malformed, config_.url + " holds no video"};
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    if (static_cast<int>(i) != index) format_->streams[i]->discard = AVDISCARD_ALL;
  }
  stream_ = format_->streams[index];
  decoder_.reset(avcodec_alloc_context3(codec));
  if (!decoder_) return Error{ErrorCode::out_of_memory, config_.url + ": no memory for a decoder"};
  int code = avcodec_parameters_to_context(decoder_.get(), stream_->codecpar);
  decoder_->pkt_timebase = stream_->time_base;
  decoder_->thread_count = config_.threads;
  // Frame threads hold frames back; a live picture is not to be late.
  decoder_->thread_type = live_ ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE;
  if (code >= 0) code = avcodec_open2(decoder_.get(), codec, nullptr);
  if (code < 0) {
    fail(ErrorCode::source_malformed, "cannot decode " + config_.url, code);
    return error_;
  }
  const AVRational rate = av_guess_frame_rate(format_.get(), stream_, nullptr);
  fps_ = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
  return {};
}

Got Reader::read_packet() {
  arm();
  const int code = av_read_frame(format_.get(), packet_.get());
  if (code >= 0) return Got::frame;
  if (code == AVERROR_EOF && (format_->pb == nullptr || format_->pb->error >= 0)) return Got::end;
  if (code == AVERROR(EAGAIN)) return stop_.sleep_until(monotonic_now_ns() + kRetryNs) ? Got::corrupt : Got::stopped;
  broken_ = true;
  if (code == AVERROR_EXIT && !timed_out_) return Got::stopped;
  const ErrorCode kind = code == AVERROR_INVALIDDATA ? ErrorCode::source_malformed : ErrorCode::source_lost;
  return fail(kind, "cannot read " + config_.url, code == AVERROR_EOF ? format_->pb->error : code);
}

Got Reader::next(AVFrame* frame) {
  if (broken_) return fail(ErrorCode::source_lost, "reading " + config_.url + " was cut off", AVERROR_EXIT);
  while (!stop_.requested()) {
    int code = avcodec_receive_frame(decoder_.get(), frame);
    if (code == AVERROR_EOF) return Got::end;
    if (code == 0) {
      bad_packets_ = 0;
      const bool damaged = frame->decode_error_flags != 0 || (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0;
      if (!damaged) return Got::frame;
      av_frame_unref(frame);
      error_ = {ErrorCode::source_malformed, config_.url + ": a frame is damaged"};
      return Got::corrupt;
    }
    if (code == AVERROR(EAGAIN)) {
      const Got got = read_packet();
      if (got == Got::stopped || got == Got::failed) return got;
      if (got == Got::corrupt) continue;  // nothing there yet
      if (got == Got::frame && packet_->stream_index != stream_->index) {
        av_packet_unref(packet_.get());
        continue;
      }
      code = avcodec_send_packet(decoder_.get(), got == Got::end ? nullptr : packet_.get());
      av_packet_unref(packet_.get());
      if (code == 0 || code == AVERROR_EOF) continue;
    }
    if (code == AVERROR(ENOMEM)) return fail(ErrorCode::out_of_memory, "cannot decode " + config_.url, code);
    if (++bad_packets_ > kMostBadPackets)
      return fail(ErrorCode::source_malformed, "cannot decode " + config_.url, code);
    error_ = {ErrorCode::source_malformed, describe(config_.url + ": a frame cannot be decoded", code)};
    return Got::corrupt;
  }
  return Got::stopped;
}

Status Reader::rewind() {
  const int64_t start = stream_->start_time == AV_NOPTS_VALUE ? 0 : stream_->start_time;
  arm();
  if (!live_ && av_seek_frame(format_.get(), stream_->index, start, AVSEEK_FLAG_BACKWARD) >= 0) {
    avcodec_flush_buffers(decoder_.get());
    bad_packets_ = 0;
    return {};
  }
  return open();
}

}  // namespace framelane::io::ffmpeg
