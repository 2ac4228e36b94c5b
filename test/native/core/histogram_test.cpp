#include "core/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace framelane::stats {
namespace {

TEST(Histogram, BinsAreContiguousAndMonotonic) {
  for (size_t bin = 0; bin + 1 < kHistogramBins; ++bin) {
    EXPECT_EQ(bin_of(bin_start_ns(bin)), bin);
    EXPECT_EQ(bin_of(bin_start_ns(bin + 1) - 1), bin);
  }
  EXPECT_EQ(bin_of(-5), 0U);
  EXPECT_EQ(bin_of(INT64_MAX), kHistogramBins - 1);
}

TEST(Histogram, EmptyHasNoQuantile) {
  const auto histogram = std::make_unique<Histogram>();
  EXPECT_EQ(quantile_ns(*histogram, 0.5), 0);
}

TEST(Histogram, CountsSumsAndKeepsTheLargest) {
  const auto histogram = std::make_unique<Histogram>();
  for (const int64_t value : {1000, 5000, 2000}) record(*histogram, value);
  EXPECT_EQ(histogram->count.load(), 3U);
  EXPECT_EQ(histogram->sum_ns.load(), 8000U);
  EXPECT_EQ(histogram->max_ns.load(), 5000U);
  EXPECT_LE(quantile_ns(*histogram, 1.0), 5000);
}

struct Distribution {
  std::string name;
  std::function<double(std::mt19937_64&)> draw;  // nanoseconds
};

class HistogramQuantile : public ::testing::TestWithParam<Distribution> {};

TEST_P(HistogramQuantile, IsWithinFivePercentOfTheExactValue) {
  std::mt19937_64 random(12345);
  const auto histogram = std::make_unique<Histogram>();
  std::vector<int64_t> values(50'000);
  for (int64_t& value : values) {
    value = static_cast<int64_t>(std::clamp(GetParam().draw(random), 1e4, 1e11));
    record(*histogram, value);
  }
  std::sort(values.begin(), values.end());
  for (const double quantile : {0.5, 0.95, 0.99, 0.999}) {
    const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(values.size()))) - 1;
    const auto exact = static_cast<double>(values[rank]);
    EXPECT_NEAR(static_cast<double>(quantile_ns(*histogram, quantile)), exact, 0.05 * exact) << quantile;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Distributions, HistogramQuantile,
    ::testing::Values(
        Distribution{"constant_10us", [](auto&) { return 1e4; }},
        Distribution{"constant_100s", [](auto&) { return 1e11; }},
        Distribution{"uniform", [](auto& random) { return std::uniform_real_distribution<>(1e4, 1e9)(random); }},
        Distribution{"log_uniform",
                     [](auto& random) { return std::exp(std::uniform_real_distribution<>(9.3, 25.3)(random)); }},
        Distribution{"normal", [](auto& random) { return std::normal_distribution<>(2e7, 2e6)(random); }},
        Distribution{"exponential", [](auto& random) { return std::exponential_distribution<>(1e-6)(random); }},
        Distribution{"two_modes",
                     [](auto& random) {
                       return std::bernoulli_distribution(0.97)(random) ? std::normal_distribution<>(3e5, 1e4)(random)
                                                                        : std::normal_distribution<>(5e10, 1e9)(random);
                     }},
        Distribution{
            "pareto",
            [](auto& random) { return 1e4 / std::pow(std::uniform_real_distribution<>(1e-9, 1.0)(random), 0.7); }}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace framelane::stats
