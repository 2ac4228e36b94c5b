// A device whose compiler makes fake pipelines.
#pragma once

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "core/device.h"
#include "core/memory_mapping.h"
#include "fakes/fake_pipeline.h"

namespace framelane::fakes {

// A spec whose first operation is named "invalid", "broken" or "half" is refused, cannot be compiled, or halves the
// width. Thread-safety: any thread; the atomics are for the test.
class FakeCompiler final : public PipelineCompiler {
 public:
  explicit FakeCompiler(std::shared_ptr<PipelineScript> script) : script_(std::move(script)) {}

  Result<std::unique_ptr<Pipeline>> compile(const PipelineRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      wishes_ = request.wishes;
    }
    compilations.fetch_add(1);
    changed.notify();
    changed.wait_until(kNoDeadline, [this] { return !hold.load(); });
    const std::string name = request.spec.operations.empty() ? "" : request.spec.operations.front().name;
    if (name == "invalid") return Error{ErrorCode::pipeline_invalid, "the operations do not fit"};
    if (name == "broken") return Error{ErrorCode::compile_failed, "the fake compiler fails"};
    if (name == "half") {
      auto halving = std::make_shared<PipelineScript>();
      halving->halves = true;
      return std::unique_ptr<Pipeline>(std::make_unique<FakePipeline>(request, halving));
    }
    return std::unique_ptr<Pipeline>(std::make_unique<FakePipeline>(request, script_));
  }

  // Of the last request.
  [[nodiscard]] ServiceWishes wishes() const {
    const std::lock_guard lock(mutex_);
    return wishes_;
  }

  std::atomic<uint64_t> compilations{0};
  std::atomic<bool> hold{false};  // compile() waits while it is set
  Signal changed;

 private:
  const std::shared_ptr<PipelineScript> script_;
  mutable std::mutex mutex_;
  ServiceWishes wishes_;
};

// Thread-safety: any thread.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(std::shared_ptr<PipelineScript> script) : compiler_(std::move(script)) {
    info_.id = "fake";
    info_.name = "a fake device";
    info_.cores = 2;
  }

  const DeviceInfo& info() const noexcept override { return info_; }
  std::byte* lend_host(size_t size_bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    if (size_bytes > lendable_bytes.load()) return nullptr;
    lendable_bytes.fetch_sub(size_bytes);
    const size_t rounded = round_up_to_page(size_bytes);
    auto* const data = static_cast<std::byte*>(std::aligned_alloc(page_bytes(), rounded));
    lent_[data] = size_bytes;
    return data;
  }
  Status adopt_host(void* data, size_t, size_t) override {
    const std::lock_guard lock(mutex_);
    if (refuse_memory.load()) return Error{ErrorCode::out_of_memory, "the fake device adopts nothing"};
    adopted_.insert(data);
    return {};
  }
  void forget_host(void* data) noexcept override {
    const std::lock_guard lock(mutex_);
    if (const auto lent = lent_.find(data); lent != lent_.end()) {
      lendable_bytes.fetch_add(lent->second);
      lent_.erase(lent);
      std::free(data);
      return;
    }
    if (adopted_.erase(data) == 0) forgotten_unknown.fetch_add(1);
  }
  PipelineCompiler& compiler() noexcept override { return compiler_; }
  FakeCompiler& fake_compiler() noexcept { return compiler_; }

  [[nodiscard]] size_t adopted() const {
    const std::lock_guard lock(mutex_);
    return adopted_.size();
  }
  [[nodiscard]] size_t lent() const {
    const std::lock_guard lock(mutex_);
    return lent_.size();
  }
  std::atomic<size_t> lendable_bytes{0};
  std::atomic<bool> refuse_memory{false};
  std::atomic<uint64_t> forgotten_unknown{0};

 private:
  DeviceInfo info_;
  FakeCompiler compiler_;
  mutable std::mutex mutex_;
  std::set<void*> adopted_;
  std::map<void*, size_t> lent_;
};

}  // namespace framelane::fakes
