// The engine's end of the shared-memory ring, for the tests of clients in other languages.
//   shm_peer source PATH FRAMES    takes frames and prints one line of JSON for each, then one with the sums
//   shm_peer sink PATH FRAMES      publishes mono16 frames of 20x10, each filled with its number, one for each line
//                                  that comes in on standard input
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "io/sinks/shm.h"
#include "native/io/shm_rig.h"

namespace framelane::io::test {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int run_source(const std::string& path, uint64_t frames) {
  Rig rig(path, HandlingMode::oldest_first);
  if (const Status started = rig.start(); !started) return fail(started.error());
  for (uint64_t i = 0; i < frames; ++i) {
    const auto filled = rig.take();
    if (!filled) return fail({ErrorCode::source_stalled, "no frame came"});
    uint64_t sum = 0;
    for (size_t at = 0; at < filled->meta.size_bytes; ++at) sum += static_cast<uint64_t>(filled->data[at]);
    std::printf("{\"id\":%" PRIu64 ",\"width\":%u,\"height\":%u,\"timestamp\":%" PRId64 ",\"sum\":%" PRIu64 "}\n",
                filled->meta.frame_id, filled->meta.width, filled->meta.height, filled->meta.device_timestamp_ns, sum);
    rig.ring->release(filled->index);
  }
  const auto error = rig.port->wait_failed();
  std::printf("{\"format\":\"%s\",\"received\":%" PRIu64 ",\"ring_full\":%" PRIu64 ",\"id_gap\":%" PRIu64
              ",\"incomplete\":%" PRIu64 ",\"error\":\"%s\"}\n",
              rig.format.describe().c_str(), rig.port->received.load(), rig.port->lost_count(LostReason::ring_full),
              rig.port->lost_count(LostReason::id_gap), rig.port->lost_count(LostReason::incomplete),
              error ? std::string(to_string(error->code)).c_str() : "");
  return 0;
}

int run_sink(const std::string& path, uint64_t frames) {
  const FrameFormat format = FrameFormat::packed(PixelFormat::mono16, 20, 10);
  const auto sink = make_shm_sink({path, 3});
  if (const Status opened = sink->open(format); !opened) return fail(opened.error());
  std::vector<uint16_t> pixels(format.bytes() / sizeof(uint16_t));
  for (uint64_t number = 1; number <= frames && std::getchar() != EOF; ++number) {
    pixels.assign(pixels.size(), static_cast<uint16_t>(number));
    ResultFrame frame;
    frame.view = {reinterpret_cast<std::byte*>(pixels.data()), format};
    frame.meta.frame_id = number;
    frame.sequence = number;
    if (const Status written = sink->write(frame); !written) return fail(written.error());
  }
  (void)std::getchar();
  return sink->close() ? 0 : 1;
}

}  // namespace
}  // namespace framelane::io::test

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc != 4) return 64;
  const uint64_t frames = std::strtoull(argv[3], nullptr, 10);
  if (argv[1] == std::string("source")) return framelane::io::test::run_source(argv[2], frames);
  if (argv[1] == std::string("sink")) return framelane::io::test::run_sink(argv[2], frames);
  return 64;
}
