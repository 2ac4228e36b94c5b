#include "fakes/cuda/detectors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "fakes/cuda/state.h"

namespace framelane::fake_cuda {
namespace {

constexpr size_t kDetectorCount = std::size(kDetectors);
constexpr size_t kLinesKept = 1000;

struct Detections {
  std::array<uint64_t, kDetectorCount> counts{};
  std::vector<std::string> lines;
};

Detections& detections() {
  static Detections& one = *new Detections;
  return one;
}

// Appended at once: an engine may be killed at any time.
void append_to_file(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, line.data(), line.size()) < 0) std::perror(path.c_str());
  close(file);
}

struct Live {
  const char* kind;
  uint64_t count;
};

std::vector<Live> live_objects() {
  const State& all = state();
  uint64_t bytes = 0, pinned = 0, registrations = 0;
  for (const auto& [begin, allocation] : all.memory) bytes += allocation->bytes;
  for (const auto& [begin, range] : all.host) ++(range.registered ? registrations : pinned);
  return {{"allocations", all.memory.size()},
          {"bytes", bytes},
          {"pinned", pinned},
          {"registrations", registrations},
          {"streams", all.streams.all().size()},
          {"events", all.events.all().size()},
          {"graphs", all.graphs.all().size()},
          {"execs", all.execs.all().size()},
          {"modules", all.modules.all().size()},
          {"links", all.links.all().size()},
          {"contexts", all.contexts.all().size()}};
}

}  // namespace

void detect(Detector detector, const std::string& what) {
  const size_t index = static_cast<size_t>(detector);
  const std::string line = std::string(kDetectors[index]) + ": " + what + "\n";
  Detections& all = detections();
  ++all.counts[index];
  if (all.lines.size() < kLinesKept) all.lines.push_back(line);
  const Options& options = state().options;
  if (!options.report_path.empty()) append_to_file(options.report_path, line);
  if (!options.abort_on_detect) return;
  std::fprintf(stderr, "the fake CUDA driver: %s", line.c_str());
  std::abort();
}

uint64_t count_detections(std::optional<Detector> detector) {
  if (detector) return detections().counts[static_cast<size_t>(*detector)];
  uint64_t sum = 0;
  for (const uint64_t count : detections().counts) sum += count;
  return sum;
}

std::string detection_report() {
  std::string text;
  for (const std::string& line : detections().lines) text += line;
  return text;
}

void clear_detections() {
  detections() = {};
}

Detector detector_named(std::string_view name) {
  for (size_t at = 0; at < kDetectorCount; ++at)
    if (name == kDetectors[at]) return static_cast<Detector>(at);
  std::fprintf(stderr, "the fake CUDA driver: there is no detector '%.*s'\n", static_cast<int>(name.size()),
               name.data());
  std::abort();
}

uint64_t detect_leaks() {
  uint64_t leaks = 0;
  for (const Live& live : live_objects()) {
    if (live.count == 0) continue;
    const bool is_size = std::string_view(live.kind) == "bytes";
    if (!is_size) leaks += live.count;
    if (!is_size) detect(Detector::leak, std::to_string(live.count) + " " + live.kind + " left");
  }
  return leaks;
}

void detect_context_leaks(const Context& context, const void* handle) {
  const State& all = state();
  const auto count = [handle](const auto& objects) {
    size_t mine = 0;
    for (const auto& [key, object] : objects)
      if (object->context == handle) ++mine;
    return mine;
  };
  const std::pair<const char*, size_t> kinds[] = {{"allocations", count(all.memory)},
                                                  {"streams", count(all.streams.all())},
                                                  {"events", count(all.events.all())},
                                                  {"modules", count(all.modules.all())}};
  for (const auto& [kind, left] : kinds) {
    if (left == 0) continue;
    detect(Detector::leak, std::to_string(left) + " " + kind + " left when the context of device " +
                               std::to_string(context.device) + " ended");
  }
}

uint64_t count_live(std::string_view kind) {
  if (kind == "hanging") return state().hanging;
  for (const Live& live : live_objects())
    if (kind == live.kind) return live.count;
  std::fprintf(stderr, "the fake CUDA driver: nothing is called '%.*s'\n", static_cast<int>(kind.size()), kind.data());
  std::abort();
}

}  // namespace framelane::fake_cuda
