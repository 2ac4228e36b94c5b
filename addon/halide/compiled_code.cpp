#include "halide/compiled_code.h"

#include <optional>

namespace framelane::halide {

Halide::Target cpu_target() {
  return Halide::get_host_target().with_feature(Halide::Target::NoBoundsQuery);
}

Halide::Target cuda_target(int capability) {
  using Target = Halide::Target;
  // In descending order: the newest that the device has.
  const std::pair<int, Target::Feature> known[] = {{86, Target::CUDACapability86}, {80, Target::CUDACapability80},
                                                   {75, Target::CUDACapability75}, {70, Target::CUDACapability70},
                                                   {61, Target::CUDACapability61}, {50, Target::CUDACapability50}};
  Target target = cpu_target().with_feature(Target::CUDA);
  for (const auto& [least, feature] : known)
    if (capability >= least) return target.with_feature(feature);
  return target;
}

struct CodeCache::Entry {
  std::optional<Result<std::shared_ptr<const CompiledCode>>> result;  // empty: being compiled
  uint64_t last_request = 0;

  [[nodiscard]] bool unused() const { return result && result->ok() && result->value().use_count() == 1; }
};

CodeCache::CodeCache(Halide::Target target, Schedule schedule, size_t most_kept, LoadKernels load_kernels)
    : target_(std::move(target)), schedule_(schedule), most_kept_(most_kept), load_kernels_(std::move(load_kernels)) {}

uint64_t CodeCache::compilations() const {
  const std::lock_guard lock(mutex_);
  return compilations_;
}

// Halide::Error is no std::exception.
Result<std::shared_ptr<const CompiledCode>> CodeCache::compile(const Plan& plan) const noexcept {
  try {
    Graph graph(plan, target_, schedule_);
    auto code = std::make_shared<CompiledCode>();
    code->callable = graph.compile();
    if (load_kernels_) {
      Result<std::unique_ptr<const KernelModule>> kernels = load_kernels_(plan, code->callable);
      if (!kernels) return kernels.error();
      code->kernels = kernels.take();
    }
    return std::shared_ptr<const CompiledCode>(std::move(code));
  } catch (const Halide::Error& error) {
    return Error{ErrorCode::compile_failed, std::string("Halide: ") + error.what()};
  } catch (const std::exception& error) {
    return Error{ErrorCode::compile_failed, error.what()};
  }
}

void CodeCache::forget_unused() {
  while (entries_.size() > most_kept_) {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (!at->second->unused()) continue;
      if (oldest == entries_.end() || at->second->last_request < oldest->second->last_request) oldest = at;
    }
    if (oldest == entries_.end()) return;
    entries_.erase(oldest);
  }
}

Result<std::shared_ptr<const CompiledCode>> CodeCache::get(const Plan& plan) {
  const std::string key = plan.key();
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock lock(mutex_);
    std::shared_ptr<Entry>& place = entries_[key];
    if (place != nullptr) {
      entry = place;
      entry->last_request = ++requests_;
      ready_.wait(lock, [&] { return entry->result.has_value(); });
      return *entry->result;
    }
    entry = place = std::make_shared<Entry>();
    entry->last_request = ++requests_;
    ++compilations_;
    forget_unused();
  }
  Result<std::shared_ptr<const CompiledCode>> result = compile(plan);
  const std::lock_guard lock(mutex_);
  entry->result = result;
  if (!result) entries_.erase(key);  // the next request tries again
  ready_.notify_all();
  return result;
}

}  // namespace framelane::halide
