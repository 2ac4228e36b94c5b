#include <algorithm>
#include <cstring>

#include "fakes/cuda/detectors.h"
#include "fakes/cuda/fake_control.h"
#include "fakes/cuda/functions.h"
#include "fakes/cuda/memory.h"
#include "fakes/cuda/options.h"
#include "fakes/cuda/stream.h"
#include "fakes/cuda/touch.h"

namespace framelane::fake_cuda {
namespace {

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

void end_all_streams(Ledger& ledger) {
  State& all = state();
  all.paused = false;
  for (Stream* stream : all.running) {
    stream->closing = true;
    stream->abandoned = true;
    stream->work.notify_all();
    stream->done.notify_all();
  }
  while (!all.running.empty()) ledger.wait(all.thread_left);
}

void forget_all() {
  State& all = state();
  all.contexts.clear();
  all.streams.clear();
  all.events.clear();
  all.modules.clear();
  all.graphs.clear();
  all.execs.clear();
  all.links.clear();
  all.functions.clear();
  all.kernels.clear();
  for (const std::shared_ptr<Capture>& capture : all.captures) capture->members.clear();
  all.captures.clear();
  drop_memory(nullptr);
  drop_host_memory();
  all.devices = {};
  all.host_clock.clear();
  all.poisoned = false;
  all.kernel_faults.clear();
  all.stand_ins.clear();
  all.launches.clear();
  all.copies.clear();
  all.launch_count = all.copy_count = 0;
  all.options = {};
  clear_faults();
  clear_detections();
}

template <typename Item>
bool item_at(const std::deque<Item>& kept, uint64_t count, uint64_t index, Item* out) {
  if (index >= count || index < count - kept.size()) return false;
  *out = kept[static_cast<size_t>(index - (count - kept.size()))];
  return true;
}

// The process ends: what is left now is left for good.
__attribute__((destructor)) void report_at_exit() {
  Ledger ledger;
  if (state().initialised && !state().options.report_path.empty()) detect_leaks();
}

}  // namespace

State& state() {
  static State& one = *new State;
  return one;
}

}  // namespace framelane::fake_cuda

using namespace framelane::fake_cuda;

void framelane_fake_reset(const char* options) {
  Ledger ledger;
  end_all_streams(ledger);
  forget_all();
  state().configured = true;
  apply_options(text_of(options));
}

void framelane_fake_apply(const char* options) {
  Ledger ledger;
  apply_options(text_of(options));
}

void framelane_fake_annotate(unsigned long long block, size_t bytes, int block_state, unsigned long long stream_id) {
  Ledger ledger;
  annotate_block(block, bytes, block_state != 0, stream_id);
}

void framelane_fake_steady(bool on) {
  Ledger ledger;
  state().options.steady = on;
}

void framelane_fake_abort_on_detect(bool on) {
  Ledger ledger;
  state().options.abort_on_detect = on;
}

uint64_t framelane_fake_detections(const char* detector) {
  Ledger ledger;
  return count_detections(detector == nullptr ? std::nullopt : std::optional(detector_named(detector)));
}

size_t framelane_fake_report(char* out, size_t size) {
  Ledger ledger;
  const std::string text = detection_report();
  if (out == nullptr || size == 0) return text.size();
  const size_t length = std::min(size - 1, text.size());
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
  return text.size();
}

void framelane_fake_clear_detections() {
  Ledger ledger;
  clear_detections();
}

uint64_t framelane_fake_check_leaks() {
  Ledger ledger;
  return detect_leaks();
}

uint64_t framelane_fake_live(const char* kind) {
  Ledger ledger;
  return count_live(kind);
}

uint64_t framelane_fake_calls(const char* function) {
  Ledger ledger;
  return count_calls(function == nullptr ? std::nullopt : std::optional(function_named(function)));
}

void framelane_fake_fail(const char* function, uint64_t kth, int result, uint64_t times) {
  Ledger ledger;
  fail_function(function == nullptr ? std::nullopt : std::optional(function_named(function)), kth,
                static_cast<CUresult>(result), times);
}

void framelane_fake_mend() {
  Ledger ledger;
  mend_functions();
}

const char* framelane_fake_last_failed() {
  Ledger ledger;
  return last_failed();
}

void framelane_fake_delay(const char* function, uint64_t delay_ns) {
  Ledger ledger;
  delay_function(function_named(function), delay_ns);
}

void framelane_fake_hang(const char* kernel, uint64_t kth) {
  Ledger ledger;
  state().kernel_faults.push_back({text_of(kernel), kth, false});
}

void framelane_fake_release_hangs() {
  Ledger ledger;
  release_hung_kernels();
}

void framelane_fake_poison(const char* function, uint64_t kth) {
  Ledger ledger;
  if (function == nullptr)
    poison_now();
  else
    poison_function(function_named(function), kth);
}

void framelane_fake_poison_kernel(const char* kernel, uint64_t kth) {
  Ledger ledger;
  state().kernel_faults.push_back({text_of(kernel), kth, true});
}

void framelane_fake_lose_device(int device, int result) {
  Ledger ledger;
  lose(device, static_cast<CUresult>(result));
}

void framelane_fake_kernel(const char* name, FakeKernel function, void* user) {
  Ledger ledger;
  if (function == nullptr)
    state().stand_ins.erase(text_of(name));
  else
    state().stand_ins[text_of(name)] = {function, user};
}

void framelane_fake_pause(bool on) {
  Ledger ledger;
  state().paused = on;
  wake_streams();
}

bool framelane_fake_inside() {
  return inside();
}

void* framelane_fake_host_address(unsigned long long device_pointer) {
  Ledger ledger;
  const std::shared_ptr<Allocation> allocation = allocation_at(device_pointer);
  return allocation ? allocation->backing + (device_pointer - allocation->begin) : nullptr;
}

uint64_t framelane_fake_launches() {
  Ledger ledger;
  return state().launch_count;
}

bool framelane_fake_launch(uint64_t index, FakeLaunch* out) {
  Ledger ledger;
  return item_at(state().launches, state().launch_count, index, out);
}

uint64_t framelane_fake_copies() {
  Ledger ledger;
  return state().copy_count;
}

bool framelane_fake_copy(uint64_t index, FakeCopy* out) {
  Ledger ledger;
  return item_at(state().copies, state().copy_count, index, out);
}
