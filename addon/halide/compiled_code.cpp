#include "halide/compiled_code.h"

#include <optional>

namespace framelane::halide {

Halide::Target cpu_target() {
  return Halide::get_host_target().with_feature(Halide::Target::NoBoundsQuery);
}

struct CodeCache::Entry {
  std::optional<Result<std::shared_ptr<const CompiledCode>>> result;  // empty: being compiled
};

CodeCache::CodeCache(Halide::Target target, Schedule schedule) : target_(std::move(target)), schedule_(schedule) {}

uint64_t CodeCache::compilations() const {
  const std::lock_guard lock(mutex_);
  return compilations_;
}

// Halide::Error is no std::exception.
Result<std::shared_ptr<const CompiledCode>> CodeCache::compile(const Plan& plan) const noexcept {
  try {
    Graph graph(plan, target_, schedule_);
    return std::shared_ptr<const CompiledCode>(std::make_shared<CompiledCode>(CompiledCode{graph.compile()}));
  } catch (const Halide::Error& error) {
    return Error{ErrorCode::compile_failed, std::string("Halide: ") + error.what()};
  } catch (const std::exception& error) {
    return Error{ErrorCode::compile_failed, error.what()};
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
      ready_.wait(lock, [&] { return entry->result.has_value(); });
      return *entry->result;
    }
    entry = place = std::make_shared<Entry>();
    ++compilations_;
  }
  Result<std::shared_ptr<const CompiledCode>> result = compile(plan);
  const std::lock_guard lock(mutex_);
  entry->result = result;
  if (!result) entries_.erase(key);  // the next request tries again
  ready_.notify_all();
  return result;
}

}  // namespace framelane::halide
