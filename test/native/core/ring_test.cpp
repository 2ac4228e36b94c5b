#include "core/ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "core/signal.h"

namespace framelane {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::unique_ptr<Ring> make_ring(HandlingMode handling, uint32_t slots, size_t slot_bytes = 4096) {
  RingConfig config;
  config.slots = slots;
  config.handling = handling;
  config.slot_bytes = slot_bytes;
  config.owner = "test";
  Result<std::unique_ptr<Ring>> ring = Ring::create(config);
  EXPECT_TRUE(ring.ok()) << (ring.ok() ? "" : ring.error().message);
  return ring.take();
}

FrameMeta meta_of(uint64_t id) {
  FrameMeta meta;
  meta.frame_id = id;
  return meta;
}

// Delivers one frame; false: no slot.
bool put(Ring& ring, uint64_t id) {
  const auto slot = ring.acquire();
  if (!slot) return false;
  ring.deliver(slot->slot, meta_of(id));
  return true;
}

TEST(Ring, SlotsLieOnPagesOfOneMapping) {
  const auto ring = make_ring(HandlingMode::oldest_first, 4, 5000);
  EXPECT_EQ(ring->slot_stride_bytes() % static_cast<size_t>(sysconf(_SC_PAGESIZE)), 0U);
  EXPECT_GE(ring->slot_stride_bytes(), 5000U);
  EXPECT_EQ(ring->mapping_bytes(), 4 * ring->slot_stride_bytes());
  EXPECT_EQ(ring->slot_data(3), ring->mapping() + 3 * ring->slot_stride_bytes());
}

TEST(Ring, MappingCannotChangeItsSize) {
  const auto ring = make_ring(HandlingMode::oldest_first, 2);
  const int seals = fcntl(ring->fd(), F_GET_SEALS);
  EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  EXPECT_NE(ftruncate(ring->fd(), 0), 0);
}

TEST(Ring, AnotherMappingOfTheDescriptorSeesTheFrames) {
  const auto ring = make_ring(HandlingMode::oldest_first, 2);
  void* other = mmap(nullptr, ring->mapping_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd(), 0);
  ASSERT_NE(other, MAP_FAILED);
  const auto slot = ring->acquire();
  ASSERT_TRUE(slot);
  std::memset(static_cast<std::byte*>(other) + slot->slot * ring->slot_stride_bytes(), 0x5a, 16);
  ring->deliver(slot->slot, meta_of(1));
  EXPECT_EQ(std::to_integer<int>(ring->take()->data[15]), 0x5a);
  munmap(other, ring->mapping_bytes());
}

TEST(Ring, RefusesTooFewSlotsAndNoBytes) {
  RingConfig config{2, HandlingMode::oldest_first_overwrite, 4096, "test"};
  EXPECT_EQ(Ring::create(config).error().code, ErrorCode::invalid_argument);
  config.handling = HandlingMode::oldest_first;
  EXPECT_TRUE(Ring::create(config).ok());
  config.slot_bytes = 0;
  EXPECT_EQ(Ring::create(config).error().code, ErrorCode::invalid_argument);
  config.slot_bytes = SIZE_MAX - 10;
  EXPECT_EQ(Ring::create(config).error().code, ErrorCode::invalid_argument);
}

TEST(Ring, MoreMemoryThanThereIsIsRefusedWithTheSize) {
  RingConfig config{4, HandlingMode::oldest_first, size_t{1} << 52, "huge"};
  const auto ring = Ring::create(config);
  ASSERT_FALSE(ring.ok());
  EXPECT_EQ(ring.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(ring.error().message.find("16.0 PiB"), std::string::npos) << ring.error().message;
}

TEST(Ring, OldestFirstRefusesWhenFull) {
  const auto ring = make_ring(HandlingMode::oldest_first, 3);
  for (uint64_t id = 0; id < 3; ++id) EXPECT_TRUE(put(*ring, id));
  EXPECT_FALSE(put(*ring, 3));
  EXPECT_EQ(ring->full(), 3U);
  for (uint64_t id = 0; id < 3; ++id) {
    const auto frame = ring->take();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->meta.frame_id, id);
    ring->release(frame->index);
  }
  EXPECT_FALSE(ring->take());
  EXPECT_TRUE(put(*ring, 4));
}

TEST(Ring, OverwriteGivesUpTheOldest) {
  const auto ring = make_ring(HandlingMode::oldest_first_overwrite, 3);
  for (uint64_t id = 0; id < 3; ++id) EXPECT_TRUE(put(*ring, id));
  const auto slot = ring->acquire();
  ASSERT_TRUE(slot);
  EXPECT_TRUE(slot->overwrote);
  ring->deliver(slot->slot, meta_of(3));
  for (uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(ring->take()->meta.frame_id, id);
}

TEST(Ring, OverwriteNeverTakesASlotThatIsBeingRead) {
  const auto ring = make_ring(HandlingMode::oldest_first_overwrite, 3);
  for (uint64_t id = 0; id < 3; ++id) EXPECT_TRUE(put(*ring, id));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring->take());
  EXPECT_EQ(ring->reading(), 3U);
  EXPECT_FALSE(ring->acquire());
}

TEST(Ring, NewestOnlyKeepsOneFrame) {
  const auto ring = make_ring(HandlingMode::newest_only, 4);
  uint32_t superseded = 0;
  for (uint64_t id = 0; id < 10; ++id) {
    const auto slot = ring->acquire();
    ASSERT_TRUE(slot);
    EXPECT_FALSE(slot->overwrote);
    superseded += ring->deliver(slot->slot, meta_of(id));
  }
  EXPECT_EQ(superseded, 9U);
  EXPECT_EQ(ring->full(), 1U);
  EXPECT_EQ(ring->take()->meta.frame_id, 9U);
}

TEST(Ring, CancelledAndReclaimedSlotsAreFreeAgain) {
  const auto ring = make_ring(HandlingMode::oldest_first, 2);
  const auto first = ring->acquire();
  const auto second = ring->acquire();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(ring->acquire());
  ring->cancel(first->slot);
  EXPECT_FALSE(ring->filling(first->slot));
  ring->reclaim();
  EXPECT_FALSE(ring->filling(second->slot));
  EXPECT_TRUE(ring->acquire());
  EXPECT_TRUE(ring->acquire());
}

TEST(Ring, DeliveringAForeignSlotDoesNothing) {
  const auto ring = make_ring(HandlingMode::oldest_first, 2);
  EXPECT_EQ(ring->deliver(1, meta_of(1)), 0U);
  EXPECT_EQ(ring->deliver(77, meta_of(1)), 0U);
  ring->cancel(77);
  EXPECT_EQ(ring->full(), 0U);
}

TEST(Ring, AcquireFreeWaitsForTheWorker) {
  const auto ring = make_ring(HandlingMode::oldest_first, 2);
  EXPECT_TRUE(put(*ring, 0));
  EXPECT_TRUE(put(*ring, 1));
  EXPECT_FALSE(ring->acquire_free(monotonic_now_ns() + 1'000'000));
  std::thread worker([&] { ring->release(ring->take()->index); });
  EXPECT_TRUE(ring->acquire_free(monotonic_now_ns() + 60 * kSecond));
  worker.join();
}

TEST(Ring, ASourceThatIsAheadSleepsUntilAsManySlotsAreFreeAsItWants) {
  const auto ring = make_ring(HandlingMode::oldest_first, 6);
  for (uint64_t id = 0; id < 6; ++id) EXPECT_TRUE(put(*ring, id));
  std::atomic<uint32_t> released{0};
  std::thread source([&] {
    EXPECT_TRUE(ring->acquire_free(monotonic_now_ns() + 60 * kSecond, 3));
    EXPECT_GE(released.load(), 2U);  // the third one is counted when its release has returned
    EXPECT_TRUE(ring->acquire_free(0));
    EXPECT_TRUE(ring->acquire_free(0));
  });
  for (; released < 3; ++released) ring->release(ring->take()->index);
  source.join();
}

TEST(Ring, WhatTheSourceHoldsItselfIsNotWaitedFor) {
  const auto ring = make_ring(HandlingMode::oldest_first, 6);
  for (uint64_t id = 0; id < 2; ++id) EXPECT_TRUE(put(*ring, id));
  for (int held = 0; held < 4; ++held) EXPECT_TRUE(ring->acquire());
  std::thread worker([&] {
    for (int i = 0; i < 2; ++i) ring->release(ring->take()->index);
  });
  EXPECT_TRUE(ring->acquire_free(kNoDeadline, 3));
  worker.join();
}

TEST(Ring, WakeSourceEndsAcquireFree) {
  const auto ring = make_ring(HandlingMode::oldest_first, 2);
  EXPECT_TRUE(put(*ring, 0));
  EXPECT_TRUE(put(*ring, 1));
  std::thread other([&] { ring->wake_source(); });
  EXPECT_FALSE(ring->acquire_free(kNoDeadline));
  other.join();
}

TEST(Ring, WakeEndsWaitFull) {
  const auto ring = make_ring(HandlingMode::oldest_first, 2);
  std::thread other([&] { ring->wake(); });
  ring->wait_full(kNoDeadline);
  EXPECT_EQ(ring->full(), 0U);
  other.join();
}

// A producer and a worker at full speed. Every frame carries its id all over; the worker must never see a mixture.
struct Tally {
  uint64_t offered = 0;
  uint64_t refused = 0;
  uint64_t overwritten = 0;
  uint64_t superseded = 0;
  uint64_t taken = 0;
  uint64_t torn = 0;
  uint64_t out_of_order = 0;
};

constexpr size_t kWords = 512;

void produce(Ring& ring, Tally& tally, uint64_t frames, bool wait) {
  for (uint64_t id = 1; id <= frames; ++id) {
    ++tally.offered;
    std::optional<Ring::Acquired> slot;
    if (wait) {
      slot = Ring::Acquired{*ring.acquire_free(kNoDeadline), false};
    } else {
      slot = ring.acquire();
    }
    if (!slot) {
      ++tally.refused;
      std::this_thread::yield();
      continue;
    }
    tally.overwritten += slot->overwrote;
    auto* words = reinterpret_cast<uint64_t*>(ring.slot_data(slot->slot));
    for (size_t i = 0; i < kWords; ++i) words[i] = id;
    tally.superseded += ring.deliver(slot->slot, meta_of(id));
    if (id % 64 == 0) std::this_thread::yield();
  }
}

void consume(Ring& ring, Tally& tally, const std::atomic<bool>& ended) {
  uint64_t last = 0;
  for (;;) {
    const bool last_round = ended.load(std::memory_order_acquire);
    const auto frame = ring.take();
    if (!frame) {
      if (last_round) return;
      ring.wait_full(monotonic_now_ns() + kSecond);
      continue;
    }
    const auto* words = reinterpret_cast<const uint64_t*>(frame->data);
    for (size_t i = 0; i < kWords; ++i) tally.torn += words[i] != frame->meta.frame_id;
    tally.out_of_order += frame->meta.frame_id <= last;
    last = frame->meta.frame_id;
    ++tally.taken;
    ring.release(frame->index);
  }
}

class RingStress : public ::testing::TestWithParam<std::tuple<HandlingMode, uint32_t, bool>> {};

TEST_P(RingStress, EveryFrameIsAccountedForAndWhole) {
  const auto [handling, slots, wait] = GetParam();
  const auto ring = make_ring(handling, slots, kWords * 8);
  Tally source;
  Tally worker;
  std::atomic<bool> ended{false};
  std::thread consumer([&] { consume(*ring, worker, ended); });
  produce(*ring, source, 20'000, wait);
  ended.store(true, std::memory_order_release);
  ring->wake();
  consumer.join();
  EXPECT_EQ(worker.torn, 0U);
  EXPECT_EQ(worker.out_of_order, 0U);
  EXPECT_EQ(source.offered, worker.taken + source.refused + source.overwritten + source.superseded);
  if (wait && handling == HandlingMode::oldest_first) {
    EXPECT_EQ(worker.taken, source.offered);
  }
  if (handling == HandlingMode::oldest_first) {
    EXPECT_EQ(source.overwritten + source.superseded, 0U);
  }
  EXPECT_EQ(ring->full(), 0U);
  EXPECT_EQ(ring->reading(), 0U);
  for (uint32_t i = 0; i < slots; ++i) EXPECT_TRUE(ring->acquire()) << "a slot was lost";
}

INSTANTIATE_TEST_SUITE_P(Modes, RingStress,
                         ::testing::Values(std::tuple{HandlingMode::oldest_first, 2U, true},
                                           std::tuple{HandlingMode::oldest_first, 4U, false},
                                           std::tuple{HandlingMode::oldest_first_overwrite, 3U, false},
                                           std::tuple{HandlingMode::oldest_first_overwrite, 8U, false},
                                           std::tuple{HandlingMode::newest_only, 3U, false},
                                           std::tuple{HandlingMode::newest_only, 5U, true}));

}  // namespace
}  // namespace framelane
