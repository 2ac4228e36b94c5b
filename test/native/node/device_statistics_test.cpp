#include "node/device_statistics.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "fakes/eventually.h"

namespace framelane::node {
namespace {

using fakes::eventually;
using stats::DeviceGroup;

// Reports what it is told to. Thread-safety: any thread.
class ReportingDevice final : public Device {
 public:
  const DeviceInfo& info() const noexcept override { return info_; }
  Status adopt_host(void*, size_t, size_t) override { return {}; }
  void forget_host(void*) noexcept override {}
  PipelineCompiler& compiler() noexcept override { std::abort(); }
  void report(DeviceReport& report) const override {
    const std::lock_guard lock(mutex_);
    report = report_;
  }
  void say(const DeviceReport& report) {
    const std::lock_guard lock(mutex_);
    report_ = report;
  }

 private:
  const DeviceInfo info_;
  mutable std::mutex mutex_;
  DeviceReport report_;
};

// Thread-safety: a value.
struct Pair {
  uint64_t DeviceReport::* reported;
  stats::Cell DeviceGroup::* cell;
};

constexpr Pair kGauges[] = {{&DeviceReport::in_use_bytes, &DeviceGroup::in_use_bytes},
                            {&DeviceReport::cached_bytes, &DeviceGroup::cached_bytes},
                            {&DeviceReport::reserved_bytes, &DeviceGroup::reserved_bytes},
                            {&DeviceReport::high_water_bytes, &DeviceGroup::high_water_bytes},
                            {&DeviceReport::buffers, &DeviceGroup::buffers},
                            {&DeviceReport::pinned_bytes, &DeviceGroup::pinned_bytes},
                            {&DeviceReport::pinned_lent_bytes, &DeviceGroup::pinned_lent_bytes}};
constexpr Pair kCounters[] = {{&DeviceReport::hits, &DeviceGroup::hits},
                              {&DeviceReport::misses, &DeviceGroup::misses},
                              {&DeviceReport::refusals, &DeviceGroup::refusals},
                              {&DeviceReport::trims, &DeviceGroup::trims},
                              {&DeviceReport::pinned_refusals, &DeviceGroup::pinned_refusals},
                              {&DeviceReport::upload_waits, &DeviceGroup::upload_waits},
                              {&DeviceReport::download_waits, &DeviceGroup::download_waits},
                              {&DeviceReport::bus_overruns, &DeviceGroup::bus_overruns},
                              {&DeviceReport::steady_alarms, &DeviceGroup::steady_alarms}};

// Each number another one.
DeviceReport report_from(uint64_t first) {
  DeviceReport report;
  for (const Pair& pair : kGauges) report.*pair.reported = first++;
  for (const Pair& pair : kCounters) report.*pair.reported = first++;
  return report;
}

class DeviceStatisticsTest : public ::testing::Test {
 protected:
  // What was copied last.
  bool shows_calls(uint64_t calls) {
    return eventually([&] { return block.functions[0].calls.load() == calls; });
  }
  [[nodiscard]] static DeviceReport with_calls(DeviceReport report, uint64_t calls) {
    report.calls = {{"cuMemAlloc", "alloc", calls}};
    return report;
  }

  ReportingDevice device;
  stats::EngineBlock block{};
};

TEST_F(DeviceStatisticsTest, EachNumberHasItsCell) {
  device.say(with_calls(report_from(100), 1));
  const DeviceStatistics statistics(device, {}, block);
  ASSERT_TRUE(shows_calls(1));
  uint64_t expected = 100;
  for (const Pair& pair : kGauges) EXPECT_EQ((block.device.*pair.cell).load(), expected++);
  for (const Pair& pair : kCounters) EXPECT_EQ((block.device.*pair.cell).load(), expected++);
  EXPECT_EQ(block.device.losses.load(), 0U);
}

TEST_F(DeviceStatisticsTest, GaugesFollowAndCountersGrowByWhatCame) {
  device.say(with_calls(report_from(100), 1));
  const DeviceStatistics statistics(device, {}, block);
  ASSERT_TRUE(shows_calls(1));
  DeviceReport more = report_from(100);
  for (const Pair& pair : kGauges) more.*pair.reported = 7;
  for (const Pair& pair : kCounters) more.*pair.reported += 1000;
  device.say(with_calls(more, 3));
  ASSERT_TRUE(shows_calls(3));
  for (const Pair& pair : kGauges) EXPECT_EQ((block.device.*pair.cell).load(), 7U);
  for (const Pair& pair : kCounters) EXPECT_EQ((block.device.*pair.cell).load(), more.*pair.reported);
}

TEST_F(DeviceStatisticsTest, TheNextEngineCarriesOnWithTheCountersAndSetsTheGauges) {
  device.say(with_calls(report_from(100), 5));
  {
    const DeviceStatistics statistics(device, {}, block);
    ASSERT_TRUE(shows_calls(5));
  }
  ReportingDevice next;
  next.say(with_calls(report_from(1), 2));
  const DeviceStatistics statistics(next, {}, block);
  ASSERT_TRUE(shows_calls(7));
  const DeviceReport first = report_from(100), second = report_from(1);
  for (const Pair& pair : kGauges) EXPECT_EQ((block.device.*pair.cell).load(), second.*pair.reported);
  for (const Pair& pair : kCounters)
    EXPECT_EQ((block.device.*pair.cell).load(), first.*pair.reported + second.*pair.reported);
}

TEST_F(DeviceStatisticsTest, NamesTheFunctionsOfTheDriverAndCutsWhatHasNoRoom) {
  const std::string longest(stats::kFunctionNameBytes + 8, 'n');
  DeviceReport report;
  for (uint64_t i = 0; i < stats::kDriverFunctions + 4; ++i) report.calls.push_back({"cuMemFree", "free", i});
  report.calls[1].function = longest;
  report.calls[1].kind = longest;
  device.say(report);
  const DeviceStatistics statistics(device, {}, block);
  const uint64_t last = stats::kDriverFunctions - 1;
  ASSERT_TRUE(eventually([&] { return block.functions[last].calls.load() == last; }));
  EXPECT_STREQ(block.functions[0].name, "cuMemFree");
  EXPECT_STREQ(block.functions[0].kind, "free");
  EXPECT_EQ(block.functions[1].name, longest.substr(0, stats::kFunctionNameBytes - 1));
  EXPECT_EQ(block.functions[1].kind, longest.substr(0, stats::kFunctionKindBytes - 1));
}

TEST_F(DeviceStatisticsTest, ShowsTheBoundsInForceAtOnce) {
  DeviceStatistics statistics(device, {1 << 20, 12}, block);
  EXPECT_EQ(block.device.max_bytes.load(), 1U << 20);
  EXPECT_EQ(block.device.max_buffers.load(), 12U);
  statistics.show({});
  EXPECT_EQ(block.device.max_bytes.load(), 0U);
  EXPECT_EQ(block.device.max_buffers.load(), 0U);
}

}  // namespace
}  // namespace framelane::node
