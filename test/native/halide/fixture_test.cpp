// Every operation against values from independent libraries: test/fixtures/generate.py.
#include "halide/cpu_device.h"
#include "native/halide/fixtures.h"

namespace framelane {
namespace {

using test::HeldFrame;

class FixtureTest : public testing::TestWithParam<const char*> {
 protected:
  static Device& device() {
    static const std::unique_ptr<Device> shared = halide::make_cpu_device();
    return *shared;
  }
};

TEST_P(FixtureTest, AgreesWithIndependentLibraries) {
  uint32_t threads = 2;
  test::for_each_case(GetParam(), [&](const test::FixtureCase& wanted, HeldFrame& input, const std::byte* output) {
    threads = 3 - threads;  // one and two in turn
    auto pipeline = device().compiler().compile(test::request_of(wanted.operations, wanted.input, threads));
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().message;
    ASSERT_EQ(pipeline.value()->outputs()[0], wanted.output);
    Result<HeldFrame> made = test::run_frame(*pipeline.value(), input);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const test::Difference worst = test::difference(made.value(), output);
    EXPECT_LE(worst.most, wanted.tolerance) << "at sample " << worst.index;
  });
}

INSTANTIATE_TEST_SUITE_P(Operations, FixtureTest, testing::ValuesIn(test::kFixtures),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace framelane
