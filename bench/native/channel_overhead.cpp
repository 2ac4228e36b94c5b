// What a whole channel costs over the bare Halide Callable: frames per second of both, taken in turns. The
// pipeline without a channel stands between them.
//   bench_channel_overhead [--workload NAME] [--threads N] [--rounds N] [--seconds S]
// Prints one JSON object for each workload and thread count. --seconds is the length of one turn.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "halide/cpu_device.h"
#include "native/bare_callable.h"
#include "native/channel_rig.h"
#include "native/pipeline_loop.h"
#include "native/workloads.h"

namespace framelane::bench {
namespace {

struct Options {
  std::string workload;           // empty: all
  std::vector<uint32_t> threads;  // empty: 1 and 2
  int rounds = 7;
  double seconds = 0.4;
};

bool read_options(int count, char** words, Options& options) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    const char* const value = words[i + 1];
    if (name == "--workload") {
      options.workload = value;
    } else if (name == "--threads") {
      options.threads = {static_cast<uint32_t>(std::max(1, std::atoi(value)))};
    } else if (name == "--rounds") {
      options.rounds = std::max(1, std::atoi(value));
    } else if (name == "--seconds") {
      options.seconds = std::atof(value);
    } else {
      return false;
    }
  }
  if (options.threads.empty()) options.threads = {1, 2};
  return count % 2 == 1 && options.seconds > 0 && (options.workload.empty() || find_workload(options.workload));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Frames per second, one value for each round.
struct Rounds {
  std::vector<double> bare, pipeline, channel;
};

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> all;
  for (size_t i = 0; i < of.size(); ++i) all.push_back(of[i] / to[i]);
  return all;
}

void print(const Workload& workload, uint32_t threads, const Options& options, const Rounds& rounds) {
  const std::vector<double> whole = ratios(rounds.channel, rounds.bare);
  const auto [least, most] = std::minmax_element(whole.begin(), whole.end());
  std::printf(
      "{\"workload\":\"%s\",\"size\":\"%ux%u\",\"threads\":%u,\"rounds\":%d,\"seconds\":%g,\"bare_fps\":%.1f,"
      "\"channel_fps\":%.1f,\"ratio\":%.4f,\"ratio_min\":%.4f,\"ratio_max\":%.4f,\"pipeline_fps\":%.1f,"
      "\"ratio_to_pipeline\":%.4f}\n",
      workload.name.c_str(), workload.format.width, workload.format.height, threads, options.rounds, options.seconds,
      median(rounds.bare), median(rounds.channel), median(whole), *least, *most, median(rounds.pipeline),
      median(ratios(rounds.channel, rounds.pipeline)));
  std::fflush(stdout);
}

// One turn of each. Who comes first changes from round to round, so that none gains from a machine that slows down.
Status take_turns(int round, int64_t turn_ns, Rounds& rounds, BareCallable& bare, PipelineLoop& pipeline,
                  ChannelRig& channel) {
  for (int turn = 0; turn < 3; ++turn) {
    const int who = (turn + round + 3) % 3;
    Result<double> fps = who == 0 ? bare.run(turn_ns) : who == 1 ? pipeline.run(turn_ns) : channel.run(turn_ns);
    if (!fps) return fps.error();
    if (round >= 0) (who == 0 ? rounds.bare : who == 1 ? rounds.pipeline : rounds.channel).push_back(fps.value());
  }
  return {};
}

Status measure(const Workload& workload, uint32_t threads, Device& device, const Options& options) {
  Result<std::unique_ptr<BareCallable>> bare = BareCallable::compile(workload, threads, ChannelRig::kSlots);
  if (!bare) return bare.error();
  Result<std::unique_ptr<PipelineLoop>> pipeline = PipelineLoop::compile(workload, threads, ChannelRig::kSlots, device);
  if (!pipeline) return pipeline.error();
  Result<std::unique_ptr<ChannelRig>> channel = ChannelRig::create(workload, threads, device);
  if (!channel) return channel.error();
  const auto turn_ns = static_cast<int64_t>(options.seconds * 1e9);
  Rounds rounds;
  for (int round = -1; round < options.rounds; ++round) {  // the first one warms up
    Status taken = take_turns(round, turn_ns, rounds, *bare.value(), *pipeline.value(), *channel.value());
    if (!taken) return taken;
  }
  print(workload, threads, options, rounds);
  return {};
}

int main_of(const Options& options) {
  const std::unique_ptr<Device> device = halide::make_cpu_device();
  for (const Workload& workload : workloads()) {
    // A channel's cost shows with small frames.
    if (options.workload.empty() ? workload.name == "images" : options.workload != workload.name) continue;
    for (const uint32_t threads : options.threads) {
      if (Status measured = measure(workload, threads, *device, options); !measured) {
        std::fprintf(stderr, "bench_channel_overhead: %s\n", measured.error().message.c_str());
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace framelane::bench

int main(int count, char** words) {
  framelane::bench::Options options;
  if (!framelane::bench::read_options(count, words, options)) {
    std::fprintf(stderr, "usage: %s [--workload NAME] [--threads N] [--rounds N] [--seconds S]\n", words[0]);
    return 64;
  }
  return framelane::bench::main_of(options);
}
