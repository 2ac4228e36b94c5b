#include "halide/arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "halide/thread_pool.h"

namespace framelane::halide {
namespace {

TEST(ArenaTest, MemoryIsAlignedAndReadableAround) {
  Arena arena(1);
  for (const size_t bytes : {1U, 63U, 64U, 65U, 5000U, 1000000U}) {
    auto* data = static_cast<char*>(arena.allocate(bytes));
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0U);
    std::memset(data, 1, bytes);
    const volatile char before = data[-8], behind = data[bytes + 7];  // Halide may read so far
    (void)before;
    (void)behind;
    arena.release(data);
  }
  arena.release(nullptr);
}

TEST(ArenaTest, ABlockIsUsedAgain) {
  Arena arena(1);
  void* const first = arena.allocate(1000);
  void* const second = arena.allocate(1000);
  EXPECT_NE(first, second);
  arena.release(second);
  arena.release(first);
  const uint64_t before = arena.system_allocations();
  void* const large = arena.allocate(1000);
  void* const small = arena.allocate(10);
  EXPECT_EQ(arena.system_allocations(), before);
  arena.release(large);
  arena.release(small);
}

TEST(ArenaTest, TheSmallestFittingBlockIsTaken) {
  Arena arena(1);
  void* const large = arena.allocate(100000);
  void* const small = arena.allocate(100);
  arena.release(large);
  arena.release(small);
  EXPECT_EQ(arena.allocate(90), small);
  EXPECT_EQ(arena.allocate(90), large);
  arena.release(large);
  arena.release(small);
}

TEST(ArenaTest, RefusesMoreThanCompiledCodeCanAddress) {
  Arena arena(1);
  EXPECT_EQ(arena.allocate(size_t{1} << 60), nullptr);
  EXPECT_EQ(arena.bytes_held(), 0U);
}

// Whichever threads come to work in the first loops, later loops find their blocks.
TEST(ArenaTest, OneThreadsNeedProvidesForAll) {
  struct Shared {
    Arena arena{4};
    std::atomic<int> failures{0};
  } shared;
  ThreadPool pool(4);
  const auto use = [](void* context, int32_t index, uint8_t*) -> int {
    Shared& self = *static_cast<Shared*>(context);
    const size_t bytes = 1000 + size_t(index) * 100;
    auto* row = static_cast<unsigned char*>(self.arena.allocate(bytes));
    auto* other = static_cast<unsigned char*>(self.arena.allocate(2 * bytes));
    std::memset(row, index, bytes);
    std::memset(other, index + 1, 2 * bytes);
    for (size_t i = 0; i < bytes; ++i) {
      if (row[i] != index || other[i] != index + 1) self.failures.fetch_add(1);
    }
    self.arena.release(row);
    self.arena.release(other);
    return 0;
  };
  ASSERT_EQ(pool.run(&shared, use, 0, 12, nullptr), 0);
  const uint64_t warm = shared.arena.system_allocations();
  for (int round = 0; round < 300; ++round) ASSERT_EQ(pool.run(&shared, use, 0, 12, nullptr), 0);
  EXPECT_EQ(shared.arena.system_allocations(), warm);
  EXPECT_EQ(shared.failures.load(), 0);
}

// A block comes home to the thread that made it, whoever gives it back.
TEST(ArenaTest, ABlockMayBeReleasedByAnotherThread) {
  struct Shared {
    Arena arena{2};
    std::array<void*, 2> held{};
    std::atomic<int> arrived{0};
  } shared;
  ThreadPool pool(2);
  const auto swap = [](void* context, int32_t index, uint8_t*) -> int {
    Shared& self = *static_cast<Shared*>(context);
    self.held[size_t(index)] = self.arena.allocate(500);
    self.arrived.fetch_add(1);
    self.arrived.notify_all();
    for (int now = self.arrived.load(); now < 2; now = self.arrived.load()) self.arrived.wait(now);
    self.arena.release(self.held[size_t(1 - index)]);
    return 0;
  };
  ASSERT_EQ(pool.run(&shared, swap, 0, 2, nullptr), 0);
  const uint64_t warm = shared.arena.system_allocations();
  for (int round = 0; round < 100; ++round) {
    shared.arrived = 0;
    ASSERT_EQ(pool.run(&shared, swap, 0, 2, nullptr), 0);
  }
  EXPECT_EQ(shared.arena.system_allocations(), warm);
}

}  // namespace
}  // namespace framelane::halide
