#include "native/io/sources/ffmpeg_film.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace framelane::io::test {
namespace {

struct Free {
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};

void drain(AVCodecContext& encoder, std::string& out) {
  const std::unique_ptr<AVPacket, Free> packet(av_packet_alloc());
  while (avcodec_receive_packet(&encoder, packet.get()) == 0) {
    out.append(reinterpret_cast<const char*>(packet->data), static_cast<size_t>(packet->size));
    av_packet_unref(packet.get());
  }
}

}  // namespace

std::string make_mpeg2_film(const std::vector<FilmPart>& parts) {
  std::string out;
  int level = 16;
  for (const FilmPart& part : parts) {
    const std::unique_ptr<AVCodecContext, Free> encoder(
        avcodec_alloc_context3(avcodec_find_encoder(AV_CODEC_ID_MPEG2VIDEO)));
    encoder->width = part.width;
    encoder->height = part.height;
    encoder->pix_fmt = AV_PIX_FMT_YUV420P;
    encoder->time_base = {1, 25};
    encoder->framerate = {25, 1};
    encoder->gop_size = 0;
    encoder->max_b_frames = 0;
    encoder->bit_rate = 4'000'000;
    encoder->flags |=
        AV_CODEC_FLAG_LOW_DELAY;  // else the decoder drops the frame that it holds back at a change of size
    EXPECT_EQ(avcodec_open2(encoder.get(), nullptr, nullptr), 0);
    const std::unique_ptr<AVFrame, Free> frame(av_frame_alloc());
    frame->format = encoder->pix_fmt;
    frame->width = part.width;
    frame->height = part.height;
    EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
    for (int i = 0; i < part.frames; ++i, level += 10) {
      EXPECT_EQ(av_frame_make_writable(frame.get()), 0);
      for (int plane = 0; plane < 3; ++plane) {
        const int rows = plane == 0 ? part.height : (part.height + 1) / 2;
        std::memset(frame->data[plane], plane == 0 ? level : 128, static_cast<size_t>(frame->linesize[plane]) * rows);
      }
      frame->pts = i;
      EXPECT_EQ(avcodec_send_frame(encoder.get(), frame.get()), 0);
      drain(*encoder, out);
    }
    avcodec_send_frame(encoder.get(), nullptr);
    drain(*encoder, out);
  }
  return out;
}

}  // namespace framelane::io::test
