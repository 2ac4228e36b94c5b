// test_gpu [--list | --timings | GoogleTest's own options]: what only a GPU can show. Without one it says so and ends
// with 77.
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "native/gpu/gpu_rig.h"

int main(int count, char** words) {
  std::vector<char*> arguments(words, words + count);
  static char list_tests[] = "--gtest_list_tests";
  bool timings = false, lists = false;
  for (char*& word : arguments) {
    if (std::string_view(word) == "--list") word = list_tests;
    lists = lists || std::string_view(word) == list_tests;
    timings = timings || std::string_view(word) == "--timings";
  }
  arguments.push_back(nullptr);
  testing::InitGoogleTest(&count, arguments.data());
  if (lists) return RUN_ALL_TESTS();
  if (const std::string missing = framelane::gpu::missing(); !missing.empty()) {
    std::fprintf(stderr, "test_gpu needs an NVIDIA GPU and its driver: %s\n", missing.c_str());
    return 77;
  }
  const framelane::DeviceInfo& info = framelane::gpu::device().info();
  std::printf("%s: %s, %s, driver for CUDA %s\n", info.id.c_str(), info.name.c_str(), info.architecture.c_str(),
              info.driver.c_str());
  const int result = timings ? framelane::gpu::print_timings() : RUN_ALL_TESTS();
  framelane::gpu::close_device();
  return result;
}
