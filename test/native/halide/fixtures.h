// Cases with values from independent libraries (test/fixtures/generate.py), and how far a result is from them.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>

#include "native/halide/frames.h"

namespace framelane::test {

inline constexpr const char* kFixtures[] = {
    "gain",          "gamma",        "convert", "crop",     "flip",   "rotate",         "black_level", "threshold",
    "white_balance", "color_matrix", "unsharp", "gaussian", "median", "local_contrast", "resize",      "chains"};

// One line of cases.txt: in FORMAT W H OFFSET out FORMAT W H OFFSET tolerance T | NAME KEY=VALUE... [| NAME ...]
struct FixtureCase {
  FrameFormat input, output;
  size_t input_offset = 0, output_offset = 0;
  double tolerance = 0;
  Operations operations;
};

// "1.5", "1,2,3" or a word.
inline ArgumentValue argument_of(const std::string& text) {
  std::vector<double> numbers;
  const char* const last = text.data() + text.size();
  for (const char* at = text.data();;) {
    double number = 0;
    const auto [end, error] = std::from_chars(at, last, number);
    if (error != std::errc() || (end != last && *end != ',')) return text;
    numbers.push_back(number);
    if (end == last) break;
    at = end + 1;
  }
  if (numbers.size() == 1) return numbers.front();
  return numbers;
}

inline FrameFormat read_format(std::istream& words, size_t& offset) {
  std::string name;
  uint32_t width = 0, height = 0;
  words >> name >> width >> height >> offset;
  const auto pixel = pixel_format_from_name(name);
  EXPECT_TRUE(pixel) << name;
  return FrameFormat::packed(pixel.value_or(PixelFormat::mono8), width, height);
}

inline FixtureCase parse_case(const std::string& line) {
  FixtureCase made;
  std::istringstream words(line);
  std::string word;
  words >> word;
  made.input = read_format(words, made.input_offset);
  words >> word;
  made.output = read_format(words, made.output_offset);
  words >> word >> made.tolerance;
  while (words >> word) {
    if (word == "|") {
      words >> word;
      made.operations.push_back({word, {}});
      continue;
    }
    const size_t equals = word.find('=');
    made.operations.back().arguments.emplace(word.substr(0, equals), argument_of(word.substr(equals + 1)));
  }
  return made;
}

inline double sample_at(const std::byte* data, SampleType type, size_t index) {
  const auto at = [&](auto sample) -> double {
    std::memcpy(&sample, data + index * sizeof sample, sizeof sample);
    return static_cast<double>(sample);
  };
  switch (type) {
    case SampleType::uint8: return at(uint8_t{});
    case SampleType::uint16: return at(uint16_t{});
    case SampleType::float32: break;
  }
  return at(float{});
}

struct Difference {
  double most = 0;
  size_t index = 0;
};

inline Difference difference(const HeldFrame& made, const std::byte* wanted) {
  Difference worst;
  const SampleType type = info(made.format.pixel).type;
  for (size_t i = 0; i < made.bytes.size() / bytes_per_sample(type); ++i) {
    const double apart = std::abs(sample_at(made.bytes.data(), type, i) - sample_at(wanted, type, i));
    if (!(apart <= worst.most)) worst = {apart, i};
  }
  return worst;
}

// Calls `check` for every case of a fixture with its input and its wanted output.
inline void for_each_case(const std::string& name,
                          const std::function<void(const FixtureCase&, HeldFrame&, const std::byte*)>& check) {
  const std::string folder = "test/fixtures/" + name;
  std::ifstream file(folder + "/samples.bin", std::ios::binary);
  std::vector<char> samples{std::istreambuf_iterator<char>(file), {}};
  const auto* data = reinterpret_cast<const std::byte*>(samples.data());
  std::ifstream lines(folder + "/cases.txt");
  size_t cases = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    const FixtureCase wanted = parse_case(line);
    HeldFrame input(wanted.input);
    ASSERT_LE(wanted.input_offset + input.bytes.size(), samples.size());
    ASSERT_LE(wanted.output_offset + wanted.output.bytes(), samples.size());
    std::memcpy(input.bytes.data(), data + wanted.input_offset, input.bytes.size());
    ASSERT_NO_FATAL_FAILURE(check(wanted, input, data + wanted.output_offset));
    ++cases;
  }
  EXPECT_GT(cases, 0U);
}

}  // namespace framelane::test
