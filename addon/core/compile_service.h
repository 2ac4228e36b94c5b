// Compiles pipelines off every channel's path.
#pragma once

#include <functional>
#include <memory>

#include "core/error.h"
#include "core/pipeline.h"

namespace framelane {

// A fixed number of threads (nice 10) that serve a queue of requests in order.
// Thread-safety: submit() from any thread; `done` is called on a compile thread and must not block.
class CompileService {
 public:
  using Done = std::function<void(Result<std::unique_ptr<Pipeline>>)>;
  explicit CompileService(unsigned threads);
  ~CompileService();  // finishes what runs, answers what waits with an error
  CompileService(const CompileService&) = delete;
  CompileService& operator=(const CompileService&) = delete;

  void submit(PipelineCompiler& compiler, PipelineRequest request, Done done);

 private:
  class Queue;
  std::unique_ptr<Queue> queue_;
};

}  // namespace framelane
