#include "native/cache/traces.h"

#include <algorithm>
#include <array>
#include <span>

namespace framelane::bench {
namespace {

// One frame in work: its blocks are numbered from `first_block`.
struct Cursor {
  uint32_t first_block = 0;
  const RecordedFrame* frame = nullptr;
  size_t at = 0;
  uint32_t asked = 0;

  [[nodiscard]] Step next() {
    const int64_t step = frame->steps[at++];
    if (step > 0) return {first_block + asked++, static_cast<size_t>(step)};
    return {first_block + static_cast<uint32_t>(-step) - 1, 0};
  }
  [[nodiscard]] bool done() const { return frame == nullptr || at == frame->steps.size(); }
};

uint32_t blocks_of(const RecordedFrame& frame) {
  const auto asked = std::count_if(frame.steps.begin(), frame.steps.end(), [](int64_t step) { return step > 0; });
  return static_cast<uint32_t>(asked);
}

void find_peak(Trace& trace) {
  std::vector<size_t> held(trace.blocks);
  size_t sum = 0;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const Step& step = trace.steps[i];
    sum = sum + step.bytes - (step.bytes == 0 ? held[step.block] : 0);
    held[step.block] = step.bytes;
    if (sum <= trace.peak_bytes) continue;
    trace.peak_bytes = sum;
    trace.peak_step = i + 1;
  }
}

// The frames in this order, so many of them in work at one time, each a step at its turn.
Trace make_trace(const std::string& name, std::span<const size_t> order, size_t at_once) {
  const std::vector<RecordedFrame>& frames = recorded_frames();
  uint32_t most_blocks = 0;
  for (const size_t index : order) most_blocks = std::max(most_blocks, blocks_of(frames[index]));
  Trace trace;
  trace.name = name;
  trace.blocks = static_cast<uint32_t>(at_once) * most_blocks;
  std::vector<Cursor> cursors(at_once);
  size_t begun = 0;
  for (bool working = true; working;) {
    working = false;
    for (size_t i = 0; i < at_once; ++i) {
      Cursor& cursor = cursors[i];
      if (cursor.done() && begun < order.size())
        cursor = {static_cast<uint32_t>(i) * most_blocks, &frames[order[begun++]]};
      if (cursor.done()) continue;
      trace.steps.push_back(cursor.next());
      working = true;
    }
  }
  find_peak(trace);
  return trace;
}

}  // namespace

const std::vector<Trace>& traces() {
  constexpr std::array<size_t, 1> kR14 = {0};
  constexpr std::array<size_t, 12> kMixed = {0, 2, 3, 1, 2, 0, 3, 2, 1, 3, 0, 1};
  static const std::vector<Trace> all{make_trace("r14", kR14, 1), make_trace("mixed", kMixed, 2)};
  return all;
}

}  // namespace framelane::bench
