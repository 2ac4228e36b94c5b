// What a stream's thread does with its works.
#include <algorithm>
#include <cstring>
#include <utility>

#include "fakes/cuda/stream.h"
#include "fakes/cuda/touch.h"

namespace framelane::fake_cuda {
namespace {

constexpr size_t kLaunchesKept = 4096;
constexpr size_t kCopiesKept = 65536;

bool stops(const Stream& stream) {
  return stream.abandoned || is_dead(stream.device);
}

// False: the stream is to stop.
bool sleep_until(Ledger& ledger, Stream& stream, int64_t deadline_ns) {
  while (!stops(stream) && now_ns() < deadline_ns) ledger.wait_until(stream.work, deadline_ns);
  return !stops(stream);
}

std::byte* bytes_of(const Plane& plane, std::byte* staged) {
  if (plane.device == 0) return staged != nullptr ? staged : plane.host;
  return plane.allocation->backing + (plane.device - plane.allocation->begin);
}

void move_bytes(Work& work) {
  std::byte* const to = bytes_of(work.to, nullptr);
  if (work.kind == Work::Kind::fill) {
    std::memset(to, work.value, work.width);
    return;
  }
  const std::byte* const from = bytes_of(work.from, work.staged.empty() ? nullptr : work.staged.data());
  for (size_t z = 0; z < work.depth; ++z)
    for (size_t y = 0; y < work.height; ++y)
      std::memcpy(to + z * work.to.slice + y * work.to.pitch, from + z * work.from.slice + y * work.from.pitch,
                  work.width);
}

FakeCopy::Direction direction_of(const Work& work) {
  if (work.from.device == 0) return FakeCopy::host_to_device;
  return work.to.device == 0 ? FakeCopy::device_to_host : FakeCopy::device_to_device;
}

// One copy at a time and direction, first come, first served.
int64_t reserve_engine(Device& device, FakeCopy::Direction direction, uint64_t bytes, int64_t start_ns) {
  const Options& options = state().options;
  const uint64_t rate = direction == FakeCopy::host_to_device   ? options.h2d_bytes_per_second
                        : direction == FakeCopy::device_to_host ? options.d2h_bytes_per_second
                                                                : 0;
  int64_t& free_ns = device.engine_free_ns[direction];
  const int64_t needed_ns = rate == 0 ? 0 : static_cast<int64_t>(static_cast<double>(bytes) / rate * 1e9);
  free_ns = std::max(free_ns, start_ns) + options.latency_ns + needed_ns;
  return free_ns;
}

void run_copy(Ledger& ledger, Stream& stream, Work& work) {
  FakeCopy copy;
  copy.direction = direction_of(work);
  copy.bytes = uint64_t{work.width} * work.height * work.depth;
  copy.stream_id = stream.id;
  copy.device = stream.device;
  copy.pinned = work.pinned;
  copy.start_ns = now_ns();
  const int64_t end_ns =
      reserve_engine(state().devices[static_cast<size_t>(stream.device)], copy.direction, copy.bytes, copy.start_ns);
  if (!sleep_until(ledger, stream, end_ns) || !has_its_host_memory(work)) return;
  ledger.outside([&] { move_bytes(work); });
  copy.end_ns = now_ns();
  if (work.kind == Work::Kind::fill) return;
  State& all = state();
  if (all.copies.size() == kCopiesKept) all.copies.pop_front();
  all.copies.push_back(copy);
  ++all.copy_count;
}

enum class Fate : uint8_t { runs, hangs, faults };

Fate fate_of(const std::string& kernel) {
  Fate fate = Fate::runs;
  for (KernelFault& fault : state().kernel_faults) {
    if (fault.left == 0 || (!fault.kernel.empty() && fault.kernel != kernel) || --fault.left > 0) continue;
    fate = fault.poisons ? Fate::faults : Fate::hangs;
  }
  return fate;
}

KernelStandIn stand_in_for(const std::string& kernel) {
  KernelStandIn best;
  for (const auto& [name, stand_in] : state().stand_ins) {
    const bool is_prefix = !name.empty() && name.back() == '*';
    const bool fits = is_prefix ? kernel.compare(0, name.size() - 1, name, 0, name.size() - 1) == 0 : name == kernel;
    if (!fits) continue;
    best = stand_in;
    if (!is_prefix) return best;
  }
  return best;
}

void run_kernel(Ledger& ledger, Stream& stream, const Work& work, bool replayed) {
  State& all = state();
  FakeLaunch launch = *work.launch;
  launch.stream_id = stream.id;
  launch.replayed = replayed;
  const std::string kernel = launch.kernel;
  const Fate fate = fate_of(kernel);
  if (fate == Fate::faults) {
    poison_now();
    return;
  }
  if (fate == Fate::hangs) {
    const uint64_t generation = all.hang_generation;
    ++all.hanging;
    while (!stops(stream) && all.hang_generation == generation) ledger.wait(stream.work);
    --all.hanging;
  }
  if (all.options.kernel_ns > 0) sleep_until(ledger, stream, now_ns() + all.options.kernel_ns);
  if (stops(stream)) return;
  const KernelStandIn stand_in = stand_in_for(kernel);
  if (stand_in.function != nullptr) ledger.outside([&] { stand_in.function(launch, stand_in.user); });
  if (all.launches.size() == kLaunchesKept) all.launches.pop_front();
  all.launches.push_back(launch);
  ++all.launch_count;
}

void run_op(Ledger& ledger, Stream& stream, Op& op) {
  for (const std::shared_ptr<Op>& before : op.waits) {
    const std::shared_ptr<Stream> owner = before->owner;
    while (!before->done && !stream.abandoned) ledger.wait(owner->done);
    observe(before.get());
  }
  while (state().paused && !stops(stream)) ledger.wait(stream.work);
  observe(&op);
  for (Work& work : op.work) {
    if (stops(stream)) break;
    switch (work.kind) {
      case Work::Kind::copy:
      case Work::Kind::fill: run_copy(ledger, stream, work); break;
      case Work::Kind::kernel: run_kernel(ledger, stream, work, op.replayed); break;
      case Work::Kind::host:
        if (work.function == nullptr) break;
        // The host's code that runs here knows that all before it is done.
        join(state().host_clock, op.clock);
        ledger.outside([&] { work.function(work.data); });
        break;
    }
  }
  publish(&op);
}

}  // namespace

void run_stream(std::shared_ptr<Stream> from) {
  Ledger ledger;
  std::shared_ptr<Stream> stream = std::move(from);
  for (;;) {
    while (stream->queue.empty() && !stream->closing) ledger.wait(stream->work);
    if (stream->queue.empty()) break;
    const std::shared_ptr<Op> op = stream->queue.front();
    run_op(ledger, *stream, *op);
    op->done = true;
    op->done_ns = now_ns();
    op->waits.clear();
    op->work.clear();
    op->owner.reset();
    stream->queue.pop_front();
    stream->done.notify_all();
  }
  state().running.erase(stream.get());
  stream.reset();
  state().thread_left.notify_all();
}

}  // namespace framelane::fake_cuda
