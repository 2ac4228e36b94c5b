// What `raw`, `y4m` and `ffmpeg` have in common: something with a beginning and an end is played.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "core/source.h"
#include "io/pacing.h"
#include "io/source_thread.h"

namespace framelane::io {

// Where nobody and nothing says how fast a film is played.
inline constexpr double kDefaultFps = 25;

struct PlayConfig {
  Pace pace = Pace::realtime;
  bool loop = false;
  std::optional<Phase> phase;  // with Pace::realtime
};

// What became of a step towards the next frame.
enum class Step : uint8_t {
  frame,       // there is one
  incomplete,  // there was one, but not all of it, or not decodable: counted, the next step goes on; error_ says how
  end,         // there are no more
  format_changed,  // the next frame does not fit the slots; it stays the next one
  stopped,         // the stop flag came up
  failed,          // error_ says why
};

// Plays what a derived class reads: waits until the next frame is due, takes a slot, has it filled.
// pace: max waits for slots and loses nothing; realtime goes on where the ring is full, and counts it.
// Thread-safety: see Source; the protected virtual functions are called on the delivering thread, and none
// of them after stop(). A derived class's destructor calls stop().
class PlayedSource : public Source {
 public:
  Status start(FramePort& port) override;
  void stop() noexcept override { thread_.join(); }

 protected:
  PlayedSource(const char* thread_name, PlayConfig config) : thread_name_(thread_name), config_(config) {}

  // Finds the next frame, not yet in a slot; the same one again until fill() or skip() has left it behind.
  virtual Step advance() = 0;
  // When the frame that advance() found is due, counted from the first; grows over loops.
  [[nodiscard]] virtual MonotonicNs media_time_ns() const noexcept = 0;
  // Puts that frame into the slot, whose capacity holds the format; sets width, height, size, timestamp.
  virtual Step fill(std::byte* slot, FrameMeta& meta) = 0;
  // Leaves the frame that advance() found.
  virtual void skip() noexcept = 0;
  // Back to the first frame. False: error_ says why.
  virtual bool rewind() = 0;
  // After Step::format_changed: what the next frame needs.
  [[nodiscard]] virtual FrameFormat next_format() const noexcept = 0;
  // A live stream comes at its own pace.
  [[nodiscard]] virtual bool paced() const noexcept { return config_.pace == Pace::realtime; }

  void begin_play() noexcept;  // in open(): counts from zero
  [[nodiscard]] const PlayConfig& play_config() const noexcept { return config_; }
  [[nodiscard]] StopFlag& stop_flag() noexcept { return thread_.stop_flag(); }

  Error error_;  // of Step::failed, Step::incomplete and rewind()

 private:
  void run(FramePort& port);
  bool step(FramePort& port);  // false: this run has ended and the port knows
  bool at_end(FramePort& port);
  bool deliver_next(FramePort& port);
  bool count_incomplete(FramePort& port);

  const char* const thread_name_;
  const PlayConfig config_;
  PlayClock clock_{kMostLateNs};
  uint64_t next_id_ = 0;
  uint64_t frames_since_rewind_ = 0;
  bool discontinuity_ = false;  // of the next frame
  MonotonicNs last_notice_ns_ = 0;
  SourceThread thread_;  // last: its thread uses all of the above

  static constexpr MonotonicNs kMostLateNs = 500'000'000;
};

}  // namespace framelane::io
