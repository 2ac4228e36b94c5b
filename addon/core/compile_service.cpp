#include "core/compile_service.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "core/thread_policy.h"

namespace framelane {

// Thread-safety: `waiting` and `closing` are under the mutex; the threads are the constructor's and destructor's.
class CompileService::Queue {
 public:
  struct Order {
    PipelineCompiler* compiler;
    PipelineRequest request;
    Done done;
  };

  explicit Queue(unsigned threads) {
    for (unsigned i = 0; i < (threads == 0 ? 1 : threads); ++i) threads_.emplace_back([this] { serve(); });
  }

  ~Queue() {
    std::deque<Order> left;
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      left.swap(waiting_);
    }
    changed_.notify_all();
    for (Order& order : left) order.done(closed(order.request));
    for (std::thread& thread : threads_) thread.join();
  }

  void put(Order order) {
    {
      const std::unique_lock lock(mutex_);
      if (!closing_) {
        waiting_.push_back(std::move(order));
        changed_.notify_one();
        return;
      }
    }
    order.done(closed(order.request));
  }

 private:
  static Error closed(const PipelineRequest& request) {
    return {ErrorCode::compile_failed,
            "the pipeline of " + request.channel + " was not compiled: the engine is stopping"};
  }

  void serve() {
    name_this_thread("compile");
    ThreadPolicy policy;
    policy.nice = 10;
    (void)apply_to_this_thread(policy);  // raising nice is never refused
    for (;;) {
      Order order;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        order = std::move(waiting_.front());
        waiting_.pop_front();
      }
      order.done(order.compiler->compile(order.request));
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Order> waiting_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

CompileService::CompileService(unsigned threads) : queue_(std::make_unique<Queue>(threads)) {}
CompileService::~CompileService() = default;

void CompileService::submit(PipelineCompiler& compiler, PipelineRequest request, Done done) {
  queue_->put({&compiler, std::move(request), std::move(done)});
}

}  // namespace framelane
