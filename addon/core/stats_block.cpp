#include "core/stats_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "core/stats_description.h"
#include "core/stats_writer.h"

namespace framelane::stats {
namespace {

// Closes on leaving the scope. Thread-safety: a local.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

Error failed(const std::string& path, const char* call) {
  return {ErrorCode::io_failed, "the statistics block " + path + ": " + call + " failed: " + std::strerror(errno)};
}

Status check(const Header& header, const std::string& path, uint64_t file_bytes) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::invalid_argument, "the statistics block " + path + " " + why};
  };
  if (header.magic != kMagic) return refuse("is no statistics block");
  if (header.version != kVersion) {
    return refuse("has version " + std::to_string(header.version) + ", not " + std::to_string(kVersion));
  }
  if (header.layout_hash != layout_hash()) return refuse("has another layout: supervisor and engine differ in version");
  if (block_bytes(header.engine_capacity, header.channel_capacity) != file_bytes) {
    return refuse("has " + std::to_string(file_bytes) + " bytes, which its header does not describe");
  }
  return {};
}

Result<std::byte*> map(int fd, size_t size_bytes, const std::string& path) {
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (data == MAP_FAILED) return failed(path, "mmap");
  return static_cast<std::byte*>(data);
}

bool make_even(Cell& sequence) noexcept {
  const uint64_t value = sequence.load(std::memory_order_relaxed);
  if (value % 2 == 0) return false;
  sequence.store(value + 1, std::memory_order_release);
  return true;
}

bool was_left_alive(const ChannelBlock& block) noexcept {
  switch (static_cast<ChannelState>(block.worker.state.load(std::memory_order_relaxed))) {
    case ChannelState::idle:
    case ChannelState::stopped: return false;
    default: return true;
  }
}

}  // namespace

size_t block_bytes(uint32_t engine_capacity, uint32_t channel_capacity) noexcept {
  return sizeof(Header) + size_t{engine_capacity} * sizeof(EngineBlock) +
         size_t{channel_capacity} * sizeof(ChannelBlock);
}

StatsBlock::StatsBlock(std::byte* data, size_t size_bytes) noexcept : data_(data), size_bytes_(size_bytes) {
  const auto* header = reinterpret_cast<const Header*>(data_);
  engines_ = header->engine_capacity;
  channels_ = header->channel_capacity;
}

StatsBlock::~StatsBlock() {
  munmap(data_, size_bytes_);
}

Result<std::unique_ptr<StatsBlock>> StatsBlock::open(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
  if (file.fd < 0) return failed(path, "open");
  struct stat status{};
  if (fstat(file.fd, &status) != 0) return failed(path, "stat");
  Header header{};
  if (pread(file.fd, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) {
    return Error{ErrorCode::invalid_argument, "the statistics block " + path + " is too short"};
  }
  if (Status valid = check(header, path, static_cast<uint64_t>(status.st_size)); !valid) return valid.error();
  Result<std::byte*> data = map(file.fd, static_cast<size_t>(status.st_size), path);
  if (!data) return data.error();
  return std::unique_ptr<StatsBlock>(new StatsBlock(data.value(), static_cast<size_t>(status.st_size)));
}

Result<std::unique_ptr<StatsBlock>> StatsBlock::create(const std::string& path, uint32_t engine_capacity,
                                                       uint32_t channel_capacity) {
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640)};
  if (file.fd < 0) return failed(path, "open");
  const size_t size_bytes = block_bytes(engine_capacity, channel_capacity);
  if (ftruncate(file.fd, static_cast<off_t>(size_bytes)) != 0) return failed(path, "ftruncate");
  Result<std::byte*> data = map(file.fd, size_bytes, path);
  if (!data) return data.error();
  new (data.value()) Header{kMagic, kVersion, layout_hash(), engine_capacity, channel_capacity};
  return std::unique_ptr<StatsBlock>(new StatsBlock(data.value(), size_bytes));
}

EngineBlock* StatsBlock::engine(uint32_t index) const noexcept {
  if (index >= engines_) return nullptr;
  return reinterpret_cast<EngineBlock*>(data_ + sizeof(Header)) + index;
}

ChannelBlock* StatsBlock::channel(uint32_t index) const noexcept {
  if (index >= channels_) return nullptr;
  return reinterpret_cast<ChannelBlock*>(data_ + sizeof(Header) + size_t{engines_} * sizeof(EngineBlock)) + index;
}

Account account_of(const ChannelBlock& block) noexcept {
  const auto value = [](const Cell& cell) { return cell.load(std::memory_order_acquire); };
  // `received` last: a frame is received before it is anything else.
  Account account;
  account.processed = value(block.worker.processed);
  account.dropped = value(block.worker.dropped_late) + value(block.worker.dropped_error) +
                    value(block.worker.dropped_restart) + value(block.worker.dropped_shutdown) +
                    value(block.source.dropped_overwritten) + value(block.source.dropped_superseded);
  account.received = value(block.source.received);
  return account;
}

bool take_over(ChannelBlock& block, Cause cause) noexcept {
  const bool half_written = make_even(block.worker.sequence) | make_even(block.source.sequence);
  const Account account = account_of(block);
  const uint64_t settled = account.processed + account.dropped;
  const uint64_t in_flight = account.received > settled ? account.received - settled : 0;
  const bool was_alive = half_written || in_flight != 0 || was_left_alive(block);
  WorkerGroup& worker = block.worker;
  Update update(worker.sequence);
  if (was_alive) update.add(cause == Cause::device ? worker.restarts_device : worker.restarts_engine);
  if (in_flight != 0) update.add(worker.dropped_restart, in_flight);
  for (Cell* gauge : {&worker.slots_total, &worker.slots_full, &worker.slots_reading, &worker.expected_fps_milli,
                      &worker.lanes, &worker.replay, &worker.replay_obstacle}) {
    update.set(*gauge, 0);
  }
  update.set(worker.state, static_cast<uint64_t>(ChannelState::idle));
  return was_alive;
}

}  // namespace framelane::stats
