// The fakes keep what they stand for.
#include "fakes/fake_device.h"
#include "fakes/fake_sink.h"
#include "fakes/fake_source.h"
#include "native/conformance/pipeline_conformance.h"
#include "native/conformance/sink_conformance.h"
#include "native/conformance/source_conformance.h"

namespace framelane::conformance {
namespace {

std::unique_ptr<Source> make_live() {
  return std::make_unique<fakes::FakeSource>(fakes::SourceScript{}, std::make_shared<std::atomic<uint64_t>>(0));
}

std::unique_ptr<Source> make_file() {
  fakes::SourceScript script;
  script.traits = {false, true, 0};
  script.wait_for_slot = true;
  script.interval_ns = 0;
  script.frames = 100;
  return std::make_unique<fakes::FakeSource>(script, std::make_shared<std::atomic<uint64_t>>(0));
}

INSTANTIATE_TEST_SUITE_P(Fakes, SourceConformance,
                         ::testing::Values(SourceCase{"live", make_live, std::nullopt},
                                           SourceCase{"file", make_file, 100}));

INSTANTIATE_TEST_SUITE_P(Fakes, SinkConformance,
                         ::testing::Values(SinkCase{
                             "fake",
                             [] { return std::make_unique<fakes::FakeSink>(std::make_shared<fakes::SinkScript>()); },
                             FrameFormat::packed(PixelFormat::rgb8, 16, 8)}));

INSTANTIATE_TEST_SUITE_P(Fakes, PipelineConformance,
                         ::testing::Values(PipelineCase{"fake",
                                                        [](const PipelineRequest& request) {
                                                          fakes::FakeCompiler compiler(
                                                              std::make_shared<fakes::PipelineScript>());
                                                          return compiler.compile(request);
                                                        },
                                                        {},
                                                        FrameFormat::packed(PixelFormat::mono8, 33, 9)}));

}  // namespace
}  // namespace framelane::conformance
