// Everything that a channel needs, made of fakes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/channel.h"
#include "core/compile_service.h"
#include "core/stats_block.h"
#include "fakes/eventually.h"
#include "fakes/fake_device.h"
#include "fakes/fake_sink.h"
#include "fakes/fake_source.h"

namespace framelane::fakes {

// Keeps all events. Thread-safety: any thread.
class RecordingListener final : public EventListener {
 public:
  void on_event(Event event) noexcept override {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }
  // Waits until an event since the last wait fits; false after a minute.
  template <typename Predicate>
  bool wait_for(Predicate fits) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] {
      while (seen_ < events_.size()) {
        if (fits(events_[seen_++])) return true;
      }
      return false;
    });
  }
  bool wait_for_state(ChannelState state) {
    return wait_for([state](const Event& event) { return event.state == state; });
  }
  bool wait_for_code(ErrorCode code) {
    return wait_for([code](const Event& event) { return event.code == code; });
  }
  [[nodiscard]] std::vector<Event> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  [[nodiscard]] size_t count(ErrorCode code) const {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const Event& event : events_) count += event.code == code;
    return count;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
  size_t seen_ = 0;
};

// Thread-safety: owned by the test.
struct ChannelBench {
  ChannelBench() {
    spec.name = "test";
    spec.slots = 6;
    spec.retry = {1'000'000, 4'000'000};
    spec.make_source = [this]() -> Result<std::unique_ptr<Source>> {
      const uint64_t attempt = sources_made.fetch_add(1);
      const SourceScript& script = attempt < scripts.size() ? scripts[attempt] : source;
      return std::unique_ptr<Source>(std::make_unique<FakeSource>(script, offered));
    };
  }

  void add_sink(const std::shared_ptr<SinkScript>& script, uint32_t queue = 4, SinkFull on_full = SinkFull::drop_newest,
                uint32_t every = 1) {
    SinkSpec sink;
    sink.name = "fake " + std::to_string(spec.sinks.size());
    sink.make = [script] { return std::make_unique<FakeSink>(script); };
    sink.queue = queue;
    sink.on_full = on_full;
    sink.every = every;
    spec.sinks.push_back(std::move(sink));
  }
  void add_memory_sink() {
    SinkSpec sink;
    sink.name = "memory";
    sink.threadless = true;
    spec.sinks.push_back(std::move(sink));
  }
  Channel& make() {
    channel = std::make_unique<Channel>(spec, device, compile, *block, listener);
    return *channel;
  }
  [[nodiscard]] uint64_t worker(const stats::Cell stats::WorkerGroup::* cell) const {
    return (block->worker.*cell).load();
  }
  [[nodiscard]] uint64_t counted(const stats::Cell stats::SourceGroup::* cell) const {
    return (block->source.*cell).load();
  }
  [[nodiscard]] uint64_t lost() const {
    return block->source.lost_transport + block->source.lost_incomplete + block->source.lost_id_gap +
           block->source.lost_ring_full;
  }
  // At a quiescent point: nothing is in flight, and every frame that was offered has a name.
  [[nodiscard]] bool adds_up() const {
    const stats::Account account = stats::account_of(*block);
    return account.received == account.processed + account.dropped && offered->load() == account.received + lost();
  }

  std::vector<SourceScript> scripts;  // of the first sources made
  SourceScript source;                // of the others
  std::atomic<uint64_t> sources_made{0};
  std::shared_ptr<std::atomic<uint64_t>> offered = std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<PipelineScript> pipeline = std::make_shared<PipelineScript>();
  FakeDevice device{pipeline};
  RecordingListener listener;
  std::unique_ptr<stats::ChannelBlock> block = std::make_unique<stats::ChannelBlock>();
  ChannelSpec spec;
  CompileService compile{1};
  std::unique_ptr<Channel> channel;  // last: it goes first
};

}  // namespace framelane::fakes
