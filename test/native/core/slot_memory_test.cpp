#include "core/slot_memory.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "core/numa.h"
#include "core/ring.h"
#include "fakes/fake_device.h"

namespace framelane {
namespace {

using fakes::FakeDevice;
using fakes::PipelineScript;

const size_t kSlotBytes = page_bytes();

Result<SlotMemory> take(SlotSharing sharing, Device* device) {
  return SlotMemory::take("test", kSlotBytes, 4, sharing, device);
}

int policy_of_this_thread() {
  int mode = -1;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) == 0 ? mode : -1;
}

TEST(SlotMemory, IsLentWhereNoPeerIsToSeeIt) {
  FakeDevice device(std::make_shared<PipelineScript>());
  device.lendable_bytes = 6 * kSlotBytes;
  {
    const Result<SlotMemory> lent = take(SlotSharing::own_process, &device);
    ASSERT_TRUE(lent.ok());
    EXPECT_EQ(lent.value().fd(), -1);
    EXPECT_EQ(device.lent(), 1U);
    // What is left is too little: a mapping of its own.
    const Result<SlotMemory> own = take(SlotSharing::own_process, &device);
    ASSERT_TRUE(own.ok());
    EXPECT_GE(own.value().fd(), 0);
    EXPECT_EQ(device.adopted(), 1U);
  }
  EXPECT_EQ(device.lent(), 0U);
  EXPECT_EQ(device.adopted(), 0U);
  EXPECT_EQ(device.lendable_bytes, 6 * kSlotBytes);
  EXPECT_EQ(device.forgotten_unknown, 0U);
}

TEST(SlotMemory, OfPeersLiesInAMappingOfItsOwn) {
  FakeDevice device(std::make_shared<PipelineScript>());
  device.lendable_bytes = 64 * kSlotBytes;
  {
    const Result<SlotMemory> memory = take(SlotSharing::peers, &device);
    ASSERT_TRUE(memory.ok());
    EXPECT_GE(memory.value().fd(), 0);
    EXPECT_EQ(device.lent(), 0U);
    EXPECT_EQ(device.adopted(), 1U);
  }
  EXPECT_EQ(device.adopted(), 0U);
}

TEST(SlotMemory, GoesBackOnceThoughItIsMoved) {
  FakeDevice device(std::make_shared<PipelineScript>());
  device.lendable_bytes = 4 * kSlotBytes;
  SlotMemory kept;
  {
    Result<SlotMemory> lent = take(SlotSharing::own_process, &device);
    ASSERT_TRUE(lent.ok());
    kept = lent.take();
  }
  EXPECT_EQ(device.lent(), 1U);
  std::memset(kept.data(), 1, kept.size_bytes());
  kept = SlotMemory();
  EXPECT_EQ(device.lent(), 0U);
  EXPECT_EQ(device.forgotten_unknown, 0U);
}

TEST(SlotMemory, ThatTheDeviceRefusesIsAnError) {
  FakeDevice device(std::make_shared<PipelineScript>());
  device.refuse_memory = true;
  EXPECT_EQ(take(SlotSharing::peers, &device).error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(device.forgotten_unknown, 0U);
}

TEST(SlotMemory, ARingOfThisProcessHasSlotsThatAreLent) {
  FakeDevice device(std::make_shared<PipelineScript>());
  device.lendable_bytes = 64 * kSlotBytes;
  RingConfig config;
  config.slot_bytes = 100;
  config.device = &device;
  config.sharing = SlotSharing::own_process;
  auto ring = Ring::create(config);
  ASSERT_TRUE(ring.ok());
  EXPECT_EQ(device.lent(), 1U);
  EXPECT_EQ(ring.value()->fd(), -1);
  for (SlotIndex slot = 0; slot < config.slots; ++slot) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(ring.value()->slot_data(slot)) % page_bytes(), 0U);
    std::memset(ring.value()->slot_data(slot), 1, config.slot_bytes);
  }
  ring.value().reset();
  EXPECT_EQ(device.lent(), 0U);
}

TEST(PreferredNode, HoldsForItsScopeOnly) {
  const int before = policy_of_this_thread();
  {
    const PreferredNode none(-1);
    EXPECT_FALSE(none.holds());
    EXPECT_EQ(policy_of_this_thread(), before);
    const PreferredNode first(0);
    // A machine without NUMA, or a container that forbids it, leaves everything as it was.
    EXPECT_EQ(policy_of_this_thread(), first.holds() ? int(MPOL_PREFERRED) : before);
  }
  EXPECT_EQ(policy_of_this_thread(), before);
}

}  // namespace
}  // namespace framelane
