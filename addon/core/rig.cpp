#include "core/rig.h"

#include <algorithm>
#include <limits>

#include "core/sink_set.h"

namespace framelane {
namespace {

constexpr uint64_t kMostBytes = std::numeric_limits<uint64_t>::max();

uint64_t clamped(unsigned __int128 bytes) {
  return bytes > kMostBytes ? kMostBytes : static_cast<uint64_t>(bytes);
}

// What FrameFormat::bytes() says, without its overflow: width and height come from a file or a network.
uint64_t frame_bytes(const FrameFormat& format) {
  const PixelFormatInfo& pixel = info(format.pixel);
  using Wide = unsigned __int128;
  const Wide rows = Wide{format.row_stride_bytes} * format.height;
  const Wide planes = Wide{format.plane_stride_bytes} * pixel.samples;
  const Wide samples = Wide{format.width} * format.height * bytes_per_sample(pixel.type) * pixel.samples;
  return clamped(std::max({rows, planes, samples}));
}

uint64_t times(uint64_t bytes, uint32_t count) {
  return clamped(static_cast<unsigned __int128>(bytes) * count);
}

uint32_t pool_slots(const ChannelSpec& spec) {
  return SinkSet::want_host(spec.sinks) ? spec.in_flight + SinkSet::slots_held(spec.sinks) : 0;
}

Error too_large(ErrorCode code, const ChannelSpec& spec, uint64_t bytes, const std::string& wish,
                const std::string& bound) {
  return {code, "channel " + spec.name + " needs " + describe_bytes(bytes) + " for " + wish + "; " + bound};
}

Status check_memory(const ChannelSpec& spec, uint64_t bytes, const std::string& wish) {
  if (spec.max_memory_bytes != 0 && bytes > spec.max_memory_bytes) {
    return too_large(ErrorCode::over_limit, spec, bytes, wish,
                     "its max_memory is " + describe_bytes(spec.max_memory_bytes));
  }
  if (const uint64_t available = available_memory_bytes(); bytes > available) {
    return too_large(ErrorCode::out_of_memory, spec, bytes, wish, describe_bytes(available) + " are available");
  }
  return {};
}

std::string ring_wish(const ChannelSpec& spec, const FrameFormat& format) {
  return std::to_string(spec.slots) + " ring slots of " + format.describe();
}

Status check_outputs(const ChannelSpec& spec, std::span<const FrameFormat> outputs, uint64_t ring_bytes,
                     const std::string& ring_text) {
  if (outputs.empty()) return Error{ErrorCode::pipeline_invalid, "the pipeline of " + spec.name + " has no output"};
  uint64_t bytes = ring_bytes;
  for (const FrameFormat& output : outputs) {
    const uint64_t size = times(frame_bytes(output), pool_slots(spec));
    bytes = size > kMostBytes - bytes ? kMostBytes : bytes + size;
  }
  return check_memory(
      spec, bytes,
      ring_text + " and " + std::to_string(pool_slots(spec)) + " output slots of " + outputs.front().describe());
}

Result<std::shared_ptr<OutputPool>> make_pool(const ChannelSpec& spec, Device& device,
                                              std::span<const FrameFormat> outputs) {
  const uint32_t slots = pool_slots(spec);
  if (slots == 0) return std::shared_ptr<OutputPool>();
  return OutputPool::create(spec.name, device, outputs, slots);
}

}  // namespace

Status Rig::check_input(const ChannelSpec& spec, const FrameFormat& format, HandlingMode handling) {
  if (format.width == 0 || format.height == 0) {
    return Error{ErrorCode::source_malformed,
                 "the source of channel " + spec.name + " delivers frames of " + format.describe()};
  }
  if (spec.sinks.size() > stats::kSinksPerChannel) {
    return Error{ErrorCode::invalid_argument, "channel " + spec.name + " has " + std::to_string(spec.sinks.size()) +
                                                  " sinks; " + std::to_string(stats::kSinksPerChannel) +
                                                  " are possible"};
  }
  // While every lane reads a slot, the source needs one to fill and, to overwrite, one more.
  const uint32_t spare = handling == HandlingMode::oldest_first ? 1 : 2;
  if (spec.in_flight == 0 || spec.slots < spec.in_flight + spare) {
    return Error{ErrorCode::invalid_argument, "channel " + spec.name + " has in_flight " +
                                                  std::to_string(spec.in_flight) + " and " +
                                                  std::to_string(spec.slots) + " ring slots; it takes at least 1 and " +
                                                  std::to_string(std::max<uint32_t>(spec.in_flight, 1) + spare)};
  }
  return check_memory(spec, times(frame_bytes(format), spec.slots), ring_wish(spec, format));
}

Result<std::unique_ptr<Rig>> Rig::build(const ChannelSpec& spec, Device& device, const FrameFormat& format, RingUse use,
                                        std::unique_ptr<Pipeline> pipeline, Signal& full) {
  const Status fits =
      check_outputs(spec, pipeline->outputs(), times(frame_bytes(format), spec.slots), ring_wish(spec, format));
  if (!fits) return fits.error();
  RingConfig config;
  config.slots = spec.slots;
  config.handling = use.handling;
  config.sharing = use.sharing;
  config.device = &device;
  config.slot_bytes = frame_bytes(format);
  config.owner = spec.name;
  config.full = &full;
  Result<std::unique_ptr<Ring>> ring = Ring::create(config);
  if (!ring) return ring.error();
  Result<std::shared_ptr<OutputPool>> pool = make_pool(spec, device, pipeline->outputs());
  if (!pool) return pool.error();
  return std::unique_ptr<Rig>(new Rig(device, format, use.handling, std::move(pipeline), ring.take(), pool.take()));
}

Rig::Rig(Device& device, const FrameFormat& format, HandlingMode handling, std::unique_ptr<Pipeline> pipeline,
         std::unique_ptr<Ring> ring, std::shared_ptr<OutputPool> pool) noexcept
    : device_(device),
      format_(format),
      handling_(handling),
      ring_(std::move(ring)),
      pipeline_(std::move(pipeline)),
      pool_(std::move(pool)) {}

// Memory goes back when the pipeline has let go of it.
Rig::~Rig() {
  pipeline_.reset();
}

Result<bool> Rig::exchange(const ChannelSpec& spec, std::unique_ptr<Pipeline> pipeline) {
  const auto before = pipeline_->outputs();
  const auto after = pipeline->outputs();
  const bool same = std::equal(before.begin(), before.end(), after.begin(), after.end());
  if (!same) {
    if (Status fits = check_outputs(spec, after, ring_->mapping_bytes(), ring_wish(spec, format_)); !fits) {
      return fits.error();
    }
    Result<std::shared_ptr<OutputPool>> pool = make_pool(spec, device_, after);
    if (!pool) return pool.error();
    pool_ = pool.take();
  }
  pipeline_ = std::move(pipeline);
  return !same;
}

}  // namespace framelane
