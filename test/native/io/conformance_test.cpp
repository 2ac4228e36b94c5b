// What every source and every sink keeps, for those of this layer.
#include "native/conformance/sink_conformance.h"
#include "native/conformance/source_conformance.h"
#include "native/io/shm_fed_source.h"
#include "native/io/source_run.h"

namespace framelane::conformance {
namespace {

using io::Fields;

constexpr uint64_t kFrames = 100;

const io::test::ScratchDirectory& scratch() {
  static const io::test::ScratchDirectory directory;
  return directory;
}

SourceCase source_case(const std::string& name, const std::string& type, const Fields& fields,
                       std::optional<uint64_t> frames) {
  return {name, [type, fields] { return io::make_source(type, fields).take(); }, frames};
}

Fields pattern(const Fields& more) {
  Fields fields{{"width", 33.0}, {"height", 17.0}, {"format", std::string("rgb8_planar")}};
  fields.insert(more.begin(), more.end());
  return fields;
}

Fields raw_file() {
  const std::string path = scratch().write("conformance.raw", std::string(kFrames * 4 * 3, 'x'));
  return {{"path", path}, {"width", 4.0}, {"height", 3.0}, {"pace", std::string("max")}};
}

Fields y4m_file() {
  std::string film = "YUV4MPEG2 W4 H2 F25:1 C420jpeg\n";
  for (uint64_t i = 0; i < kFrames; ++i) film += "FRAME\n" + std::string(12, 'x');
  return {{"path", scratch().write("conformance.y4m", film)}, {"pace", std::string("max")}};
}

INSTANTIATE_TEST_SUITE_P(
    Io, SourceConformance,
    ::testing::Values(source_case("pattern", "pattern", pattern({{"fps", 200.0}}), std::nullopt),
                      source_case("pattern that ends", "pattern", pattern({{"fps", 500.0}, {"frames", 100.0}}),
                                  kFrames),
                      source_case("pattern at full speed", "pattern",
                                  pattern({{"pace", std::string("max")}, {"frames", 100.0}}), kFrames),
                      source_case("raw", "raw", raw_file(), kFrames), source_case("y4m", "y4m", y4m_file(), kFrames),
                      SourceCase{"shm", [] { return std::make_unique<io::test::FedShmSource>(); }, std::nullopt}));

SinkCase sink_case(const std::string& name, const std::string& type, const Fields& fields, PixelFormat pixel) {
  return {name, [type, fields] { return io::make_sink(type, fields).take().make(); },
          FrameFormat::packed(pixel, 16, 8)};
}

Fields file(const std::string& name) {
  return {{"path", scratch().file(name)}};
}

INSTANTIATE_TEST_SUITE_P(
    Io, SinkConformance,
    ::testing::Values(sink_case("memory", "memory", {}, PixelFormat::rgb32f),
                      sink_case("raw file", "file", file("sink.raw"), PixelFormat::rgb16_planar),
                      sink_case("grey y4m file", "file", file("grey.y4m"), PixelFormat::mono8),
                      sink_case("colour y4m file", "file", file("colour.y4m"), PixelFormat::rgb8),
                      sink_case("shm", "shm", {{"path", scratch().file("sink.sock")}}, PixelFormat::rgb16),
                      sink_case("numbered files", "file", file("frame-%06d.raw"), PixelFormat::mono16)));

}  // namespace
}  // namespace framelane::conformance
