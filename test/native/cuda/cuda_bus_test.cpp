// Frames that have to wait for the bus, on the fake driver.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "fakes/await_inputs.h"
#include "native/cuda/cuda_rig.h"

namespace framelane::cuda {
namespace {

using test::CudaRig;
using test::kFormat;
using test::ShiftProgram;
using test::Slots;
using test::Told;

constexpr int64_t kMs = 1'000'000;

void until(const std::function<bool()>& holds) {
  const MonotonicNs deadline_ns = monotonic_now_ns() + 20'000 * kMs;
  while (!holds() && monotonic_now_ns() < deadline_ns) std::this_thread::yield();
  ASSERT_TRUE(holds());
}

// A frame from one slot to another, as a channel's worker runs it. Thread-safety: one thread's; it stays where it is
// while the frame is in flight.
struct Flight {
  FrameView in, out;
  FrameMeta meta;
  Status submit(Pipeline& pipeline, LaneIndex lane) {
    meta.arrival_ns = monotonic_now_ns();
    return pipeline.submit(lane, {{&in, 1}, {&out, 1}, &meta});
  }
};

// A frame of 10s whose download waits, for the test has the bus: it owes one leave(1). Thread-safety: the test's
// thread.
struct HeldUp {
  HeldUp() {
    slots.fill(0, 10);
    EXPECT_TRUE(rig.bus.download.try_enter(1));
    EXPECT_TRUE(flight.submit(*pipeline, 0).ok());
    fakes::await_inputs(*pipeline, 0);
  }
  CudaRig rig{"", 0, CudaRig::BusWidth::narrow};
  std::unique_ptr<Pipeline> pipeline = rig.open().take();
  Slots slots{rig, kFormat, 2};
  const uint64_t launches = rig.fake.launches();  // before the frame
  Flight flight{slots.view(0), slots.view(1), {}};
};

uint64_t downloads(const CudaRig& rig) {
  uint64_t count = 0;
  fake_cuda::FakeCopy copy;
  for (uint64_t i = 0; i < rig.fake.copies(); ++i)
    if (rig.fake.copy(i, &copy) && copy.direction == fake_cuda::FakeCopy::device_to_host) ++count;
  return count;
}

TEST(CudaBus, ADownloadWaitsForItsTurnWhileTheKernelsRun) {
  for (const bool polls : {false, true}) {
    HeldUp held;
    until([&] { return held.rig.fake.launches() == held.launches + 2; });
    EXPECT_EQ(downloads(held.rig), 0U);
    EXPECT_FALSE(held.pipeline->done(0));
    if (polls) {
      held.rig.bus.download.leave(1);
      until([&] { return held.pipeline->done(0); });
    } else {
      std::thread leaves([&] {
        until([&] { return held.rig.bus.download.waiting() == 1; });
        held.rig.bus.download.leave(1);
      });
      EXPECT_TRUE(held.pipeline->wait(0).status.ok());
      leaves.join();
    }
    if (polls) {
      EXPECT_TRUE(held.pipeline->wait(0).status.ok());
    }
    EXPECT_TRUE(held.slots.holds(1, 11));
    EXPECT_EQ(downloads(held.rig), 1U);
  }
}

TEST(CudaBus, DownloadsThatWaitComeInTheOrderOfTheirFramesAndAreToldOf) {
  CudaRig rig("", 0, CudaRig::BusWidth::narrow);
  Result<std::unique_ptr<Pipeline>> made = rig.open(3);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 6);
  Told listener;
  ASSERT_TRUE(made.value()->notify(&listener));
  std::array<Flight, 3> flights;
  for (unsigned round = 0; round < 20; ++round) {
    ASSERT_TRUE(rig.bus.download.try_enter(1));
    for (LaneIndex lane = 0; lane < 3; ++lane) {
      slots.fill(lane, static_cast<unsigned char>(round * 3 + lane));
      flights[lane] = {slots.view(lane), slots.view(3 + lane), {}};
      ASSERT_TRUE(flights[lane].submit(*made.value(), lane).ok());
      fakes::await_inputs(*made.value(), lane);
      made.value()->tell(lane);
    }
    const uint64_t copies = rig.fake.copies();
    const int told = listener.told.load();
    rig.bus.download.leave(1);
    until([&] { return listener.told.load() >= told + 3; });
    fake_cuda::FakeCopy copy;
    std::array<uint64_t, 3> streams{};
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(rig.fake.copy(copies + i, &copy));
      streams[i] = copy.stream_id;
    }
    EXPECT_TRUE(streams[0] < streams[1] && streams[1] < streams[2]);
    for (LaneIndex lane = 0; lane < 3; ++lane) {
      EXPECT_TRUE(made.value()->done(lane));
      ASSERT_TRUE(made.value()->wait(lane).status.ok());
      EXPECT_TRUE(slots.holds(3 + lane, static_cast<unsigned char>(round * 3 + lane + 1)));
    }
  }
  EXPECT_TRUE(made.value()->notify(nullptr));
}

// A worker that sleeps for its frame's end keeps nobody from the bus.
TEST(CudaBus, WhoComesByGivesBackTheTurnsOfUploadsThatAreOver) {
  CudaRig rig("", 0, CudaRig::BusWidth::narrow);
  const auto first = rig.open().take(), second = rig.open().take();
  Slots slots(rig, kFormat, 4);
  slots.fill(0, 10);
  slots.fill(1, 20);
  Flight sleeps{slots.view(0), slots.view(2), {}}, comes{slots.view(1), slots.view(3), {}};
  const uint64_t launches = rig.fake.launches();
  ASSERT_TRUE(sleeps.submit(*first, 0).ok());
  until([&] { return rig.fake.launches() == launches + 2; });
  EXPECT_EQ(rig.bus.upload.copies(), 1U);
  ASSERT_TRUE(comes.submit(*second, 0).ok());
  EXPECT_EQ(rig.bus.upload.waits(), 0U);
  // Downwards the first one has the only turn until it is waited for.
  EXPECT_TRUE(first->wait(0).status.ok());
  EXPECT_TRUE(second->wait(0).status.ok());
  EXPECT_EQ(rig.bus.download.overrun(), 0U);
  EXPECT_TRUE(slots.holds(2, 11));
  EXPECT_TRUE(slots.holds(3, 21));
}

TEST(CudaBus, AnUploadsTurnIsGivenBackOnce) {
  CudaRig rig;
  const Stream stream = make_stream(rig.driver).take();
  std::vector<UploadTurns::Turn> turns;
  for (uint32_t i = 0; i < UploadTurns::kPlaces; ++i) {
    ASSERT_TRUE(rig.bus.upload.try_enter(1000));
    turns.push_back(rig.bus.turns.put(1000, stream.get()));
    ASSERT_TRUE(turns.back());
  }
  EXPECT_FALSE(rig.bus.turns.put(1000, stream.get()));
  ASSERT_EQ(rig.driver.cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
  for (uint32_t i = 0; i < 10; ++i) rig.bus.turns.end(turns[i]);
  EXPECT_EQ(rig.bus.upload.copies(), UploadTurns::kPlaces - 10);
  rig.bus.turns.collect();
  EXPECT_EQ(rig.bus.upload.copies(), 0U);
  ASSERT_TRUE(rig.bus.upload.try_enter(7));
  const UploadTurns::Turn other = rig.bus.turns.put(7, stream.get());
  for (const UploadTurns::Turn& turn : turns) rig.bus.turns.end(turn);
  EXPECT_EQ(rig.bus.upload.bytes(), 7U);
  rig.bus.turns.end(other);
}

TEST(CudaBus, AnUploadWhoseEndCannotBeMarkedKeepsItsTurnForItself) {
  CudaRig rig;
  const Stream stream = make_stream(rig.driver).take();
  rig.fake.fail("cuEventRecord", 1, CUDA_ERROR_INVALID_VALUE, 1);
  EXPECT_FALSE(rig.bus.turns.put(1000, stream.get()));
  ASSERT_TRUE(rig.bus.upload.try_enter(1000));
  const UploadTurns::Turn turn = rig.bus.turns.put(1000, stream.get());
  EXPECT_TRUE(turn);
  rig.bus.turns.end(turn);
}

TEST(CudaBus, ALateFrameIsNotBegunWhereTheChannelDropsSuch) {
  CudaRig rig("", 0, CudaRig::BusWidth::narrow);
  ServiceWishes wishes;
  wishes.deadline_ns = 2 * kMs;
  wishes.on_overload = OnOverload::drop_late;
  Result<std::unique_ptr<Pipeline>> made = rig.open(1, {}, wishes);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 2);
  slots.fill(0, 10);
  ASSERT_TRUE(rig.bus.upload.try_enter(1));
  const uint64_t copies = rig.fake.copies();
  Flight flight{slots.view(0), slots.view(1), {}};
  EXPECT_EQ(flight.submit(*made.value(), 0).error().code, ErrorCode::frame_late);
  EXPECT_EQ(rig.fake.copies(), copies);
  EXPECT_EQ(rig.bus.upload.waiting(), 0U);
  rig.bus.upload.leave(1);
  ASSERT_TRUE(flight.submit(*made.value(), 0).ok());
  EXPECT_TRUE(made.value()->wait(0).status.ok());
  EXPECT_TRUE(slots.holds(1, 11));
}

TEST(CudaBus, OneChannelNeverWaitsForItself) {
  CudaRig rig("", 0, CudaRig::BusWidth::narrow);
  Result<std::unique_ptr<Pipeline>> made = rig.open(4);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Slots slots(rig, kFormat, 8);
  std::array<Flight, 4> flights;
  for (int round = 0; round < 20; ++round) {
    for (LaneIndex lane = 0; lane < 4; ++lane) {
      slots.fill(lane, static_cast<unsigned char>(lane));
      flights[lane] = {slots.view(lane), slots.view(4 + lane), {}};
      ASSERT_TRUE(flights[lane].submit(*made.value(), lane).ok());
    }
    for (LaneIndex lane = 0; lane < 4; ++lane) {
      ASSERT_TRUE(made.value()->wait(lane).status.ok());
      EXPECT_TRUE(slots.holds(4 + lane, static_cast<unsigned char>(lane + 1)));
    }
  }
  EXPECT_EQ(rig.bus.upload.waits(), 0U);
  EXPECT_EQ(rig.bus.upload.overrun() + rig.bus.download.overrun(), 0U);
}

// Everybody wants the bus and it takes one at a time: nobody is stuck, nobody goes out of patience, all is right.
TEST(CudaBus, ManyChannelsShareANarrowBus) {
  CudaRig rig("", 0, CudaRig::BusWidth::narrow);
  std::array<std::thread, 6> channels;
  for (size_t number = 0; number < channels.size(); ++number) {
    channels[number] = std::thread([&rig, number] {
      const auto lanes = static_cast<LaneIndex>(1 + number % 3);
      ASSERT_TRUE(rig.context->make_current().ok());
      Result<std::unique_ptr<Pipeline>> made = rig.open(lanes);
      ASSERT_TRUE(made.ok()) << made.error().message;
      Slots slots(rig, kFormat, 2 * lanes);
      Told listener;
      const bool tells = number >= 3 && made.value()->notify(&listener);
      std::array<Flight, 3> flights;
      for (unsigned frame = 0; frame < 60; ++frame) {
        const LaneIndex lane = frame % lanes;
        if (frame >= lanes) {
          fakes::await_inputs(*made.value(), lane);
          ASSERT_TRUE(made.value()->wait(lane).status.ok());
          ASSERT_TRUE(slots.holds(lanes + lane, static_cast<unsigned char>(frame - lanes + 1)));
        }
        slots.fill(lane, static_cast<unsigned char>(frame));
        flights[lane] = {slots.view(lane), slots.view(lanes + lane), {}};
        ASSERT_TRUE(flights[lane].submit(*made.value(), lane).ok());
        if (tells && frame % 2 == 0) made.value()->tell(lane);
      }
      for (LaneIndex lane = 0; lane < lanes; ++lane) {
        ASSERT_TRUE(made.value()->wait(lane).status.ok());
      }
      if (tells) {
        EXPECT_TRUE(made.value()->notify(nullptr));
      }
      made.value().reset();
    });
  }
  for (std::thread& channel : channels) channel.join();
  EXPECT_GT(rig.bus.upload.waits() + rig.bus.download.waits(), 0U);
  EXPECT_EQ(rig.bus.upload.overrun(), 0U);
  EXPECT_EQ(rig.bus.download.overrun(), 0U);
}

TEST(CudaBus, ADownloadThatFailsWhenItsTurnComesLeavesTheLaneFree) {
  for (const char* const call : {"cuMemcpyDtoHAsync", "cuEventRecord"}) {
    SCOPED_TRACE(call);
    HeldUp held;
    held.rig.bus.download.leave(1);
    held.rig.fake.fail(call, 1, CUDA_ERROR_INVALID_VALUE, 1);
    EXPECT_EQ(held.pipeline->wait(0).status.error().code, ErrorCode::device_failed);
    ASSERT_TRUE(held.flight.submit(*held.pipeline, 0).ok());
    EXPECT_TRUE(held.pipeline->wait(0).status.ok());
    EXPECT_TRUE(held.slots.holds(1, 11));
  }
}

TEST(CudaBus, AFrameWhoseDownloadNeverCameCanBeAbandoned) {
  HeldUp held;
  held.pipeline.reset();
  held.rig.bus.download.leave(1);
}

}  // namespace
}  // namespace framelane::cuda
