#include "core/stats_block.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/replay.h"
#include "core/stats_description.h"
#include "core/stats_writer.h"

namespace framelane::stats {
namespace {

class StatsBlockFile : public ::testing::Test {
 protected:
  StatsBlockFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stats-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ / "block";
  }
  ~StatsBlockFile() override { std::filesystem::remove_all(directory_); }

  void poke(size_t offset, uint32_t value) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }

  void expect_refused(const std::string& part) const {
    const auto block = StatsBlock::open(path_);
    ASSERT_FALSE(block.ok());
    EXPECT_EQ(block.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(block.error().message.find(part), std::string::npos) << block.error().message;
  }

  std::filesystem::path directory_;
  std::string path_;
};

TEST_F(StatsBlockFile, CellsOutliveTheMapping) {
  {
    auto block = StatsBlock::create(path_, 2, 3);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(std::filesystem::file_size(path_), block_bytes(2, 3));
    block.value()->engine(1)->pid.store(7);
    block.value()->channel(2)->source.received.store(11);
  }
  auto again = StatsBlock::open(path_);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value()->engine_capacity(), 2U);
  EXPECT_EQ(again.value()->channel_capacity(), 3U);
  EXPECT_EQ(again.value()->engine(1)->pid.load(), 7U);
  EXPECT_EQ(again.value()->channel(2)->source.received.load(), 11U);
  EXPECT_EQ(again.value()->engine(2), nullptr);
  EXPECT_EQ(again.value()->channel(3), nullptr);
}

TEST_F(StatsBlockFile, RefusesWhatIsNoBlockOrAnotherOne) {
  EXPECT_EQ(StatsBlock::open(path_).error().code, ErrorCode::io_failed);
  std::ofstream(path_) << "short";
  expect_refused("too short");
  ASSERT_TRUE(StatsBlock::create(path_, 1, 1).ok());
  poke(offsetof(Header, channel_capacity), 2);
  expect_refused("does not describe");
  ASSERT_TRUE(StatsBlock::create(path_, 1, 1).ok());
  poke(offsetof(Header, layout_hash), 1);
  expect_refused("another layout");
  poke(offsetof(Header, version), 99);
  expect_refused("version 99");
  poke(offsetof(Header, magic), 0);
  expect_refused("no statistics block");
}

TEST_F(StatsBlockFile, FreshAndStoppedCellsAreNoRestart) {
  auto block = StatsBlock::create(path_, 1, 1);
  ChannelBlock& cells = *block.value()->channel(0);
  EXPECT_FALSE(take_over(cells));
  cells.worker.state.store(static_cast<uint64_t>(ChannelState::stopped));
  EXPECT_FALSE(take_over(cells));
  EXPECT_EQ(cells.worker.restarts_engine.load(), 0U);
}

TEST_F(StatsBlockFile, WhatADeadEngineHeldIsDroppedByRestart) {
  auto block = StatsBlock::create(path_, 1, 1);
  ChannelBlock& cells = *block.value()->channel(0);
  cells.source.received.store(100);
  cells.source.dropped_overwritten.store(10);
  cells.worker.processed.store(80);
  cells.worker.dropped_late.store(3);
  cells.worker.dropped_restart.store(2);
  cells.worker.sequence.store(41);  // killed inside an update
  cells.worker.slots_full.store(4);
  cells.worker.state.store(static_cast<uint64_t>(ChannelState::running));
  EXPECT_TRUE(take_over(cells));
  EXPECT_EQ(cells.worker.dropped_restart.load(), 7U);
  EXPECT_EQ(cells.worker.restarts_engine.load(), 1U);
  EXPECT_EQ(cells.worker.sequence.load() % 2, 0U);
  EXPECT_EQ(cells.worker.slots_full.load(), 0U);
  const Account account = account_of(cells);
  EXPECT_EQ(account.received, account.processed + account.dropped);
}

TEST_F(StatsBlockFile, TheLossOfADeviceIsCountedAsSuch) {
  auto block = StatsBlock::create(path_, 1, 1);
  ChannelBlock& cells = *block.value()->channel(0);
  cells.worker.state.store(static_cast<uint64_t>(ChannelState::running));
  cells.worker.replay.store(static_cast<uint64_t>(Replay::captured));
  EXPECT_TRUE(take_over(cells, Cause::device));
  EXPECT_EQ(cells.worker.restarts_device.load(), 1U);
  EXPECT_EQ(cells.worker.restarts_engine.load(), 0U);
  EXPECT_EQ(cells.worker.replay.load(), 0U);
}

TEST_F(StatsBlockFile, AKilledProcessLeavesCountsThatAddUp) {
  for (int round = 0; round < 5; ++round) {
    auto block = StatsBlock::create(path_, 1, 1);
    ChannelBlock& cells = *block.value()->channel(0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) {  // what a source's thread and a worker do for one frame, in their order
        {
          Update update(cells.source.sequence);
          update.add(cells.source.received);
        }
        Update update(cells.worker.sequence);
        update.add(cells.worker.processed);
      }
    }
    while (cells.worker.processed.load() < 1000) std::this_thread::yield();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const Account left = account_of(cells);
    EXPECT_GE(left.received, left.processed + left.dropped);
    cells.worker.state.store(static_cast<uint64_t>(ChannelState::running));
    take_over(cells);
    const Account after = account_of(cells);
    EXPECT_EQ(after.received, after.processed + after.dropped);
    EXPECT_EQ(cells.source.sequence.load() % 2, 0U);
  }
}

TEST_F(StatsBlockFile, AReaderNeverAcceptsAHalfWrittenGroup) {
  auto block = StatsBlock::create(path_, 1, 1);
  SourceGroup& group = block.value()->channel(0)->source;
  std::atomic<bool> ended{false};
  std::thread writer([&] {
    for (uint64_t i = 0; i < 200'000; ++i) {
      Update update(group.sequence);
      update.add(group.received);
      update.add(group.lost_transport);
    }
    ended.store(true);
  });
  uint64_t accepted = 0;
  while (!ended.load()) {
    const uint64_t before = group.sequence.load(std::memory_order_acquire);
    const uint64_t received = group.received.load(std::memory_order_acquire);
    const uint64_t lost = group.lost_transport.load(std::memory_order_acquire);
    const uint64_t after = group.sequence.load(std::memory_order_acquire);
    if (before != after || before % 2 != 0) continue;
    ++accepted;
    EXPECT_EQ(received, lost);
  }
  writer.join();
  EXPECT_EQ(group.received.load(), group.lost_transport.load());
  EXPECT_EQ(group.sequence.load(), 400'000U);
  EXPECT_GT(accepted, 0U);
}

TEST(StatsDescription, NamesAndOffsetsAreThoseOfTheLayout) {
  EXPECT_EQ(kSourceCells[0].name, "received");
  EXPECT_EQ(kSourceCells[0].offset_bytes, 8U);
  EXPECT_EQ(kWorkerCells.back().name, "staged_frames");
  EXPECT_EQ(to_string(ChannelState::backoff), "backoff");
  EXPECT_EQ(kErrorNames[static_cast<size_t>(ErrorCode::compile_failed)], "compile_failed");
  EXPECT_NE(layout_hash(), 0U);
}

}  // namespace
}  // namespace framelane::stats
