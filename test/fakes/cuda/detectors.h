// What the fake has caught. Under a Ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framelane::fake_cuda {

// In the order of kDetectors.
enum class Detector : uint8_t {
  use_after_free,
  given_twice,
  stream_race,
  unpinned_copy,
  default_stream,
  steady_call,
  capture,
  leak,
};

// Counts and keeps the line; ends the process where the test wants that.
void detect(Detector detector, const std::string& what);
[[nodiscard]] uint64_t count_detections(std::optional<Detector> detector);
[[nodiscard]] std::string detection_report();
void clear_detections();
// Ends the process when there is none of this name: the test is wrong.
[[nodiscard]] Detector detector_named(std::string_view name);

// Every object that is still there, one detection per kind.
uint64_t detect_leaks();
// The same for what belonged to a context that ends.
void detect_context_leaks(const struct Context& context, const void* handle);
[[nodiscard]] uint64_t count_live(std::string_view kind);

}  // namespace framelane::fake_cuda
