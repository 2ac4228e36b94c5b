// From a list of operations to captured kernels, on the fake driver: linked once, kept on disk, whatever fails.
#include <fstream>
#include <thread>

#include "native/halide/cuda_rig.h"

namespace framelane::test {
namespace {

namespace fs = std::filesystem;

const FrameFormat kFormat = FrameFormat::packed(PixelFormat::mono8, 40, 30);

Operations sharpen(double radius = 1) {
  return {operation("unsharp", {{"amount", 0.5}, {"radius", radius}})};
}

class CudaCompileTest : public CudaRig {
 protected:
  // Runs one frame; kernels are recorded, not run.
  void run(Pipeline& pipeline, const FrameFormat& format = kFormat) {
    HeldFrame in(format);
    Result<HeldFrame> out = run_frame(pipeline, in);
    EXPECT_TRUE(out.ok()) << out.error().message;
  }
  [[nodiscard]] std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
    return files;
  }
};

TEST_F(CudaCompileTest, LinksLoadsAndCaptures) {
  open();
  auto pipeline = compile(sharpen(), kFormat);
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().message;
  EXPECT_EQ(fake.calls("cuLinkComplete"), 1U);
  EXPECT_EQ(fake.calls("cuModuleLoadData"), 1U);
  EXPECT_EQ(fake.calls("cuModuleLoadDataEx"), 0U);
  EXPECT_EQ(pipeline.value()->report().replay, Replay::captured);
  EXPECT_EQ(pipeline.value()->outputs()[0], kFormat);
  const uint64_t before = fake.launches();
  run(*pipeline.value());
  fake_cuda::FakeLaunch launch;
  ASSERT_EQ(fake.launches(), before + 1);
  ASSERT_TRUE(fake.launch(before, &launch));
  EXPECT_TRUE(launch.replayed);
  EXPECT_GE(launch.grid[0] * launch.block[0], kFormat.width);
  EXPECT_GE(launch.grid[1] * launch.block[1], kFormat.height);
}

TEST_F(CudaCompileTest, ChannelsShareWhatIsEqual) {
  open();
  auto first = compile(sharpen(), kFormat), second = compile(sharpen(), FrameFormat::packed(PixelFormat::mono8, 9, 9));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(fake.calls("cuModuleLoadData"), 1U);
  auto third = compile(sharpen(2), kFormat);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(fake.calls("cuModuleLoadData"), 2U);
}

TEST_F(CudaCompileTest, TheDiskKeepsWhatWasLinked) {
  for (const uint64_t links : {1U, 1U}) {
    open();
    auto pipeline = compile(sharpen(), kFormat);
    ASSERT_TRUE(pipeline.ok());
    run(*pipeline.value());
    EXPECT_EQ(fake.calls("cuLinkComplete"), links);
    EXPECT_EQ(kept().size(), 1U);
  }
}

TEST_F(CudaCompileTest, ADamagedFileIsMadeAnew) {
  open();
  ASSERT_TRUE(compile(sharpen(), kFormat).ok());
  ASSERT_EQ(kept().size(), 1U);
  const fs::path file = kept()[0];
  const auto whole = fs::file_size(file);
  const auto damage = [&](auto how) {
    how();
    open();
    EXPECT_TRUE(compile(sharpen(), kFormat).ok());
    EXPECT_EQ(kept().size(), 1U);
    EXPECT_EQ(fs::file_size(file), whole);
  };
  damage([&] { fs::resize_file(file, whole / 2); });
  EXPECT_EQ(fake.calls("cuLinkComplete"), 2U);
  damage([&] {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(whole / 2));
    bytes.put('\x7f').put('\x7f');
  });
  EXPECT_EQ(fake.calls("cuLinkComplete"), 3U);
}

TEST_F(CudaCompileTest, WithoutADirectoryItIsLinkedEachTime) {
  for (const char* directory_name : {"", "/proc/framelane"}) {
    DeviceOptions without = options();
    without.cache_directory = directory_name;
    const uint64_t before = fake.calls("cuLinkComplete");
    for (int i = 0; i < 2; ++i) {
      open(without);
      EXPECT_TRUE(compile(sharpen(), kFormat).ok());
    }
    EXPECT_EQ(fake.calls("cuLinkComplete"), before + 2);
  }
}

TEST_F(CudaCompileTest, KernelsGoWithTheLastWhoKnowsThem) {
  open();
  auto pipeline = compile(sharpen(), kFormat).take();
  EXPECT_EQ(fake.live("modules"), 1U);
  pipeline.reset();
  EXPECT_EQ(fake.live("modules"), 1U);  // kept for the next one who asks
  device.reset();
  EXPECT_EQ(fake.live("modules"), 0U);
}

TEST_F(CudaCompileTest, ABadPipelineIsRefusedBeforeAnythingIsCompiled) {
  open();
  auto refused = compile({operation("crop", {{"x", 30.0}, {"y", 0.0}, {"width", 20.0}, {"height", 5.0}})}, kFormat);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::pipeline_invalid);
  EXPECT_EQ(fake.calls("cuLinkCreate"), 0U);
}

TEST_F(CudaCompileTest, ThereIsNoSuchGpu) {
  DeviceOptions wrong = options();
  wrong.id = "cuda:7";
  Result<std::unique_ptr<Device>> made = halide::make_cuda_device(wrong);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
}

// Every call that a compile makes fails once: it ends in an error that names it or goes on without; then all is well.
class CudaFailingCompileTest : public CudaCompileTest {
 protected:
  CudaFailingCompileTest() { without_.cache_directory.clear(); }

  // The pipeline ends at once.
  Error compile_and_end() {
    const Result<std::unique_ptr<Pipeline>> made = compile(sharpen(), kFormat);
    return made ? Error{ErrorCode::ok, ""} : made.error();
  }
  // How often each function is called by that.
  std::vector<cuda::Driver::Count> calls_of_a_compile() {
    std::vector<cuda::Driver::Count> before(cuda::Driver::kFunctions), after(cuda::Driver::kFunctions);
    driver.counts(before);
    EXPECT_EQ(compile_and_end().message, "");
    driver.counts(after);
    for (size_t i = 0; i < after.size(); ++i) after[i].calls -= before[i].calls;
    return after;
  }
  void fail_each(const cuda::Driver::Count& function, bool anew) {
    for (uint64_t k = 1; k <= std::min<uint64_t>(function.calls, 3); ++k) {
      SCOPED_TRACE(std::string(function.name) + " " + std::to_string(k));
      if (anew) open(without_);
      fake.fail(std::string(function.name).c_str(), k, cuda::CUDA_ERROR_INVALID_VALUE, 1);
      const Error made = compile_and_end();
      if (made.code != ErrorCode::ok) {
        ++refusals_;
        EXPECT_TRUE(made.code == ErrorCode::device_failed || made.code == ErrorCode::compile_failed) << made.message;
        EXPECT_NE(made.message.find("CUDA_ERROR_INVALID_VALUE"), std::string::npos) << made.message;
      }
      auto again = compile(sharpen(), kFormat);
      ASSERT_TRUE(again.ok()) << again.error().message;
      run(*again.value());
    }
  }

  DeviceOptions without_ = options();
  int refusals_ = 0;
};

TEST_F(CudaFailingCompileTest, WhileItIsLinkedAndLoaded) {
  open(without_);
  for (const cuda::Driver::Count& function : calls_of_a_compile()) {
    const bool loads = function.kind == cuda::CallKind::link || function.kind == cuda::CallKind::module_load ||
                       function.name == "cuModuleGetFunction";
    if (!loads) continue;
    ASSERT_NO_FATAL_FAILURE(fail_each(function, true));
  }
  EXPECT_GE(refusals_, 5);
}

TEST_F(CudaFailingCompileTest, WhileItIsRunAndCaptured) {
  open(without_);
  ASSERT_TRUE(compile(sharpen(), kFormat).ok());
  for (const cuda::Driver::Count& function : calls_of_a_compile()) ASSERT_NO_FATAL_FAILURE(fail_each(function, false));
  EXPECT_GE(refusals_, 5);
}

}  // namespace
}  // namespace framelane::test
