// Page-locked memory on the fake driver: what was taken at start, and what is registered later.
#include "cuda/host_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>

#include "core/memory_mapping.h"
#include "native/cuda/cuda_rig.h"
#include "native/cuda/sizes.h"

namespace framelane::cuda {
namespace {

using test::CudaRig;

// Calls that page-lock or unlock: each would make other channels wait.
uint64_t locking_calls(const Driver& driver) {
  return driver.calls(CallKind::alloc) + driver.calls(CallKind::free);
}

TEST(PinnedArena, LendsTheSmallestGapAndClosesIt) {
  Result<std::unique_ptr<PinnedArena>> made = PinnedArena::create(2 * kMiB, -1);
  ASSERT_TRUE(made.ok()) << made.error().message;
  PinnedArena& arena = *made.value();
  const size_t page = page_bytes();
  std::byte* const a = arena.lend(3 * page);
  std::byte* const b = arena.lend(1);
  std::byte* const c = arena.lend(page + 1);
  EXPECT_EQ(a, arena.data());
  EXPECT_EQ(b, a + 3 * page);
  EXPECT_EQ(c, b + page);
  EXPECT_EQ(arena.lent_bytes(), 6 * page);
  EXPECT_TRUE(arena.take_back(a));
  EXPECT_EQ(arena.lend(2 * page), a);
  EXPECT_TRUE(arena.take_back(a));
  EXPECT_FALSE(arena.take_back(a));
  EXPECT_TRUE(arena.take_back(c));
  EXPECT_TRUE(arena.take_back(b));
  // All gaps are one again.
  EXPECT_EQ(arena.lend(arena.bytes()), arena.data());
  EXPECT_EQ(arena.lend(1), nullptr);
  EXPECT_EQ(arena.lend(0), nullptr);
  int foreign = 0;
  EXPECT_FALSE(arena.take_back(&foreign));
}

TEST(PinnedArena, MoreThanThereIsIsRefusedInASentence) {
  const Result<std::unique_ptr<PinnedArena>> made = PinnedArena::create(size_t{1} << 60, -1);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(made.error().message.find("available"), std::string::npos);
}

TEST(HostMemory, WhatIsLentNeedsNoCallOfTheDriver) {
  CudaRig rig;
  ASSERT_TRUE(rig.host->reserve(4 * kMiB).ok());
  EXPECT_EQ(rig.host->bytes(), 4 * kMiB);
  const uint64_t before = locking_calls(rig.driver);
  std::byte* const lent = rig.host->lend(3 * kMiB);
  ASSERT_NE(lent, nullptr);
  EXPECT_TRUE(rig.host->find(lent, 3 * kMiB).holds(lent, 3 * kMiB));
  EXPECT_EQ(rig.host->lend(2 * kMiB), nullptr);
  {
    const Result<PinnedBlock> staging = rig.host->allocate(kMiB);
    ASSERT_TRUE(staging.ok());
    std::memset(staging.value().data(), 1, staging.value().bytes());
    EXPECT_EQ(rig.host->lent_bytes(), 4 * kMiB);
  }
  rig.host->forget(lent);
  EXPECT_EQ(rig.host->lent_bytes(), 0U);
  EXPECT_EQ(locking_calls(rig.driver), before);
}

TEST(HostMemory, IsRegisteredInPiecesThatNoSlotCrosses) {
  CudaRig rig;
  const size_t slot = 3 * kMiB;
  Result<SharedMapping> mapping = SharedMapping::create("test", 5 * slot);
  ASSERT_TRUE(mapping.ok());
  std::byte* const data = mapping.value().data();
  const uint64_t before = rig.driver.cuMemHostRegister.calls();
  ASSERT_TRUE(rig.host->adopt(data, 5 * slot, slot).ok());
  EXPECT_EQ(rig.driver.cuMemHostRegister.calls(), before + 5);
  const HostRange range = rig.host->find(data, 1);
  for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(range.holds(data + i * slot, slot)) << i;
  EXPECT_FALSE(range.holds(data + 1, slot));
  EXPECT_FALSE(range.holds(data, 0));
  EXPECT_FALSE(rig.host->find(data, 2 * slot).holds(data, 2 * slot));
  EXPECT_EQ(rig.host->bytes(), 5 * slot);
  rig.host->forget(data);
  EXPECT_EQ(rig.host->find(data, 1).begin, nullptr);
  EXPECT_EQ(rig.host->bytes(), 0U);
  EXPECT_EQ(rig.fake.live("registrations"), 0U);
}

TEST(HostMemory, SmallSlotsShareAPiece) {
  CudaRig rig;
  const size_t slot = page_bytes();
  Result<SharedMapping> mapping = SharedMapping::create("test", 3 * kMiB);
  ASSERT_TRUE(mapping.ok());
  const uint64_t before = rig.driver.cuMemHostRegister.calls();
  ASSERT_TRUE(rig.host->adopt(mapping.value().data(), 3 * kMiB, slot).ok());
  EXPECT_EQ(rig.driver.cuMemHostRegister.calls(), before + 1);
  rig.host->forget(mapping.value().data());
}

TEST(HostMemory, WhatTheDriverRefusesIsCountedAndLeavesNothing) {
  for (const uint64_t kth : {1U, 3U}) {
    CudaRig rig;
    const size_t slot = 4 * kMiB;
    Result<SharedMapping> mapping = SharedMapping::create("test", 4 * slot);
    ASSERT_TRUE(mapping.ok());
    rig.fake.fail("cuMemHostRegister", kth, CUDA_ERROR_NOT_SUPPORTED, 1);
    ASSERT_TRUE(rig.host->adopt(mapping.value().data(), 4 * slot, slot).ok());
    EXPECT_EQ(rig.host->refused(), 1U);
    EXPECT_EQ(rig.host->bytes(), 0U);
    EXPECT_EQ(rig.host->find(mapping.value().data(), 1).begin, nullptr);
    EXPECT_EQ(rig.fake.live("registrations"), 0U);
    rig.host->forget(mapping.value().data());
  }
}

TEST(HostMemory, WhatCannotBeVerifiedIsNotTaken) {
  CudaRig rig;
  std::vector<std::byte> bytes(kMiB);
  rig.fake.fail("cuPointerGetAttribute", 2, CUDA_ERROR_INVALID_VALUE, 1);
  ASSERT_TRUE(rig.host->adopt(bytes.data(), bytes.size(), bytes.size()).ok());
  EXPECT_EQ(rig.host->refused(), 1U);
  EXPECT_EQ(rig.fake.live("registrations"), 0U);
}

TEST(HostMemory, AReserveThatTheDriverRefusesIsAnError) {
  CudaRig rig("pinned=1MiB");
  const Status reserved = rig.host->reserve(4 * kMiB);
  ASSERT_FALSE(reserved.ok());
  EXPECT_EQ(reserved.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(rig.host->lend(1), nullptr);
  EXPECT_EQ(rig.host->bytes(), 0U);
}

TEST(HostMemory, ADeviceThatIsLostIsSaid) {
  CudaRig rig;
  std::vector<std::byte> bytes(kMiB);
  rig.fake.fail("cuMemHostRegister", 1, CUDA_ERROR_ILLEGAL_ADDRESS, 1);
  EXPECT_EQ(rig.host->adopt(bytes.data(), bytes.size(), bytes.size()).error().code, ErrorCode::device_lost);
  EXPECT_EQ(rig.host->refused(), 0U);
}

TEST(HostMemory, StagingComesFromTheMachineWhereNothingIsReserved) {
  CudaRig rig;
  {
    Result<PinnedBlock> block = rig.host->allocate(100);
    ASSERT_TRUE(block.ok());
    PinnedBlock kept = block.take();
    std::memset(kept.data(), 1, kept.bytes());
    EXPECT_TRUE(rig.host->find(kept.data(), 100).holds(kept.data(), 100));
    PinnedBlock other;
    other = std::move(kept);
    EXPECT_EQ(rig.fake.live("registrations"), 1U);
  }
  EXPECT_EQ(rig.fake.live("registrations"), 0U);
  rig.fake.fail("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY, 1);
  EXPECT_EQ(rig.host->allocate(100).error().code, ErrorCode::out_of_memory);
}

TEST(HostMemory, ManyThreadsLendAndAdopt) {
  CudaRig rig;
  ASSERT_TRUE(rig.host->reserve(4 * kMiB).ok());
  std::array<std::thread, 4> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (size_t round = 0; round < 50; ++round) {
        std::vector<std::byte> bytes(4096);
        ASSERT_TRUE(rig.host->adopt(bytes.data(), bytes.size(), bytes.size()).ok());
        std::byte* const lent = rig.host->lend((round % 7 + 1) * 4096);
        ASSERT_NE(lent, nullptr);
        std::memset(lent, int(round), 4096);
        EXPECT_TRUE(rig.host->find(lent, 4096).holds(lent, 4096));
        rig.host->forget(bytes.data());
        rig.host->forget(lent);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rig.host->lent_bytes(), 0U);
}

}  // namespace
}  // namespace framelane::cuda
