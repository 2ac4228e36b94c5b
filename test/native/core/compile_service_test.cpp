#include "core/compile_service.h"

#include <gtest/gtest.h>

#include <future>

#include "fakes/fake_device.h"

namespace framelane {
namespace {

PipelineRequest request() {
  PipelineRequest request;
  request.channel = "test";
  request.inputs = {FrameFormat::packed(PixelFormat::mono8, 8, 8)};
  return request;
}

TEST(CompileService, AnswersOnAThreadOfItsOwn) {
  fakes::FakeCompiler compiler(std::make_shared<fakes::PipelineScript>());
  CompileService service(2);
  std::promise<std::thread::id> answered;
  service.submit(compiler, request(), [&](Result<std::unique_ptr<Pipeline>> result) {
    EXPECT_TRUE(result.ok());
    answered.set_value(std::this_thread::get_id());
  });
  EXPECT_NE(answered.get_future().get(), std::this_thread::get_id());
}

TEST(CompileService, ServesInOrderWithOneThread) {
  fakes::FakeCompiler compiler(std::make_shared<fakes::PipelineScript>());
  std::vector<int> order;
  {
    CompileService service(1);
    std::promise<void> last;
    for (int i = 0; i < 10; ++i) {
      service.submit(compiler, request(), [&, i](Result<std::unique_ptr<Pipeline>>) {
        order.push_back(i);
        if (i == 9) last.set_value();
      });
    }
    last.get_future().wait();
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(CompileService, FinishesWhatRunsAndRefusesWhatWaits) {
  fakes::FakeCompiler compiler(std::make_shared<fakes::PipelineScript>());
  compiler.hold.store(true);
  std::atomic<int> compiled{0};
  std::atomic<int> refused{0};
  {
    CompileService service(1);
    for (int i = 0; i < 3; ++i) {
      service.submit(compiler, request(), [&](Result<std::unique_ptr<Pipeline>> result) {
        ++(result.ok() ? compiled : refused);
        // The waiting ones are refused first; then the running one may end.
        compiler.hold.store(false);
        compiler.changed.notify();
      });
    }
    compiler.changed.wait_until(kNoDeadline, [&] { return compiler.compilations.load() == 1; });
  }
  EXPECT_EQ(compiled.load(), 1);
  EXPECT_EQ(refused.load(), 2);
}

}  // namespace
}  // namespace framelane
