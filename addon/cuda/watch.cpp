#include "cuda/watch.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace framelane::cuda {
namespace {

// A call that does not return while others' do has no luck with the driver's locks, or has hung alone.
constexpr int64_t kTimeoutsOfOneCall = 10;
// A frame whose calls take longer is held up by others' calls: more than all its turns at the gate together.
constexpr int64_t kHeldUpNs = 20'000'000;
constexpr int64_t kLongestPeriodNs = 10'000'000;

}  // namespace

void LaneProgress::set(CUevent event) noexcept {
  since_ns_.store(0, std::memory_order_release);
  event_.store(event, std::memory_order_release);
  since_ns_.store(monotonic_now_ns(), std::memory_order_release);
  steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

LaneProgress::Stand LaneProgress::stand() const noexcept {
  const MonotonicNs since_ns = since_ns_.load(std::memory_order_acquire);
  const Stand stand{since_ns, event_.load(std::memory_order_acquire)};
  return is(stand) ? stand : Stand();
}

Watch::Watch(const Context& context, int64_t timeout_ns) : context_(context), timeout_ns_(timeout_ns) {
  if (timeout_ns_ == 0) return;
  watcher_ = std::thread([this] { watch(); });
  asker_ = std::thread([this] { ask(); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread* thread : {&watcher_, &asker_})
    if (thread->joinable()) thread->join();
}

void Watch::listen(DeviceListener& listener) {
  listener_.store(&listener, std::memory_order_release);
}

void Watch::add(const LaneProgress& lane) {
  const std::lock_guard lock(mutex_);
  lanes_.push_back({&lane});
}

void Watch::remove(const LaneProgress& lane) noexcept {
  std::unique_lock lock(mutex_);
  std::erase_if(lanes_, [&](const Watched& watched) { return watched.lane == &lane; });
  changed_.wait(lock, [&] { return !question_ || question_->lane != &lane || lost(); });
  if (question_ && question_->lane == &lane) question_->lane = nullptr;
}

void Watch::report(const Error& why) noexcept {
  if (lost_.exchange(true, std::memory_order_acq_rel)) return;
  if (DeviceListener* const listener = listener_.load(std::memory_order_acquire)) listener->device_lost(why);
}

Error Watch::late(const LaneProgress& lane, const char* what) const {
  return {ErrorCode::device_lost,
          "a frame of channel " + lane.channel + what + " within " + std::to_string(timeout_ns_ / 1'000'000) + " ms"};
}

void Watch::watch() {
  pthread_setname_np(pthread_self(), "fl-watch");
  const auto period = std::chrono::nanoseconds(std::clamp<int64_t>(timeout_ns_ / 8, 1'000'000, kLongestPeriodNs));
  std::unique_lock lock(mutex_);
  while (!lost() && !changed_.wait_for(lock, period, [this] { return ending_; })) look(monotonic_now_ns());
  context_.driver().gate().end(std::exchange(helped_, CallGate::kNone));
  // Whoever saw the loss: a lane that goes waits for no answer any more.
  changed_.notify_all();
}

// Under the lock.
void Watch::look(MonotonicNs now) noexcept {
  uint64_t steps = 0;
  for (const Watched& watched : lanes_) steps += watched.lane->steps();
  if (steps != steps_) moved_ns_ = now;
  steps_ = steps;
  help(now);
  if (question_) {
    if (now - question_->asked_ns <= timeout_ns_ || question_->lane == nullptr) return;
    return report(late(*question_->lane, " was not finished, and the driver did not answer"));
  }
  for (const auto& [lane, finished_ns] : lanes_) {
    const LaneProgress::Stand stand = lane->stand();
    if (stand.since_ns != 0 && stand.since_ns != finished_ns && now - stand.since_ns > timeout_ns_)
      judge(*lane, stand, now);
    if (question_ || lost()) return;
  }
}

// Under the lock. For a period in two at most: else those who wait at the gate would be taken for held up, and keep it
// closed.
void Watch::help(MonotonicNs now) noexcept {
  CallGate& gate = context_.driver().gate();
  if (helped_ != CallGate::kNone) return gate.end(std::exchange(helped_, CallGate::kNone));
  const bool held_up = std::any_of(lanes_.begin(), lanes_.end(), [&](const Watched& watched) {
    const LaneProgress::Stand stand = watched.lane->stand();
    return stand.since_ns != 0 && stand.event == nullptr && now - stand.since_ns > kHeldUpNs;
  });
  if (held_up) helped_ = gate.begin(now - kHeldUpNs);
}

void Watch::judge(const LaneProgress& lane, const LaneProgress::Stand& stand, MonotonicNs now) noexcept {
  if (stand.event != nullptr) {
    question_ = Question{&lane, stand, now};
    changed_.notify_all();
    return;
  }
  const bool nobody_moves = now - std::max(stand.since_ns, moved_ns_) > timeout_ns_;
  if (nobody_moves || now - stand.since_ns > kTimeoutsOfOneCall * timeout_ns_)
    report(late(lane, " waits for a call of the driver that did not return"));
}

void Watch::ask() {
  pthread_setname_np(pthread_self(), "fl-watch-ask");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || (question_ && !question_->taken); });
    if (ending_) return;
    question_->taken = true;
    const CUevent event = question_->stand.event;
    lock.unlock();
    const CUresult result = query(event);
    lock.lock();
    settle(result);
    question_.reset();
    changed_.notify_all();
  }
}

// Without the lock. What the watch cannot ask, the lane's own thread will find out.
CUresult Watch::query(CUevent event) const noexcept {
  return context_.make_current() ? context_.driver().cuEventQuery(event) : CUDA_SUCCESS;
}

// Under the lock.
void Watch::settle(CUresult result) noexcept {
  const auto& [lane, stand, asked_ns, taken] = *question_;
  if (lane == nullptr || !lane->is(stand)) return;
  if (result == CUDA_ERROR_NOT_READY) return report(late(*lane, " was not finished"));
  if (is_fatal(result)) return report(context_.driver().error("cuEventQuery", result));
  for (Watched& watched : lanes_)
    if (watched.lane == lane) watched.finished_ns = stand.since_ns;
}

}  // namespace framelane::cuda
