#include "cuda/cubin_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace framelane::cuda {
namespace {

namespace fs = std::filesystem;

class CubinCacheTest : public testing::Test {
 protected:
  CubinCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "framelane-cubins-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~CubinCacheTest() override { fs::remove_all(directory_); }

  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(directory_)) found.push_back(entry.path());
    return found;
  }
  void age(const std::string& key, int hours) const {
    fs::last_write_time(directory_ / (key + ".cubin"), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  fs::path directory_;
};

const std::string kCode(
    "\x7f"
    "ELF\0code",
    9);

TEST_F(CubinCacheTest, GivesWhatWasKept) {
  const CubinCache cache({directory_.string()});
  EXPECT_FALSE(cache.find("a"));
  cache.keep("a", kCode);
  EXPECT_EQ(cache.find("a"), kCode);
  EXPECT_FALSE(cache.find("b"));
  EXPECT_EQ(CubinCache({directory_.string()}).find("a"), kCode);
  cache.keep("a", "newer");
  EXPECT_EQ(cache.find("a"), "newer");
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(CubinCacheTest, TheKeyIsOfCodeGpuAndDriver) {
  const std::string key = CubinCache::key("ptx", "sm_90", 13000);
  EXPECT_EQ(key, CubinCache::key("ptx", "sm_90", 13000));
  EXPECT_NE(key, CubinCache::key("ptx ", "sm_90", 13000));
  EXPECT_NE(key, CubinCache::key("ptx", "sm_86", 13000));
  EXPECT_NE(key, CubinCache::key("ptx", "sm_90", 12080));
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST_F(CubinCacheTest, EveryDamageIsSeenAndRemoved) {
  const CubinCache cache({directory_.string()});
  cache.keep("a", kCode);
  const fs::path file = files()[0];
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (size_t at = 0; at <= whole.size(); ++at) {
    std::string damaged = whole;
    if (at < whole.size())
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    else
      damaged += '\0';
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_FALSE(cache.find("a")) << at;
    EXPECT_FALSE(fs::exists(file)) << at;
    std::ofstream(file, std::ios::binary) << whole.substr(0, at);
    EXPECT_EQ(cache.find("a").has_value(), at == whole.size()) << at;
  }
}

TEST_F(CubinCacheTest, TheOldestGoWhenThereAreTooMany) {
  const std::string code(1000, 'c');
  const CubinCache cache({.directory = directory_.string(), .most_bytes = 3500});
  for (const char* key : {"a", "b", "c"}) cache.keep(key, code);
  age("a", 3);
  age("b", 2);
  age("c", 1);
  ASSERT_TRUE(cache.find("a"));  // used now
  cache.keep("d", code);
  EXPECT_TRUE(cache.find("a"));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_TRUE(cache.find("c"));
  EXPECT_TRUE(cache.find("d"));
}

TEST_F(CubinCacheTest, WithoutADirectoryNothingIsKept) {
  for (const char* nowhere : {"", "/proc/framelane"}) {
    const CubinCache cache({nowhere});
    cache.keep("a", kCode);
    EXPECT_FALSE(cache.find("a"));
  }
  std::ofstream(directory_ / "file") << "no directory";
  const CubinCache cache({(directory_ / "file").string()});
  cache.keep("a", kCode);
  EXPECT_FALSE(cache.find("a"));
}

// As compile threads, or engines, that make the same code at the same time.
TEST_F(CubinCacheTest, ManyWritersGiveOneWholeFile) {
  const std::string code(100'000, 'k');
  std::vector<std::thread> threads;
  std::atomic<int> broken{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const CubinCache cache({directory_.string()});
      for (int round = 0; round < 50; ++round) {
        cache.keep("a", code);
        if (cache.find("a") != code) broken.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken.load(), 0);
  EXPECT_EQ(files().size(), 1U);
}

}  // namespace
}  // namespace framelane::cuda
