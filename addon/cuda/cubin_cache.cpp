#include "cuda/cubin_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace framelane::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'F', 'L', 'C', 'U', 'B', 'I', 'N', '1'};
constexpr const char* kEnding = ".cubin";

// FNV-1a, 64 bits (G. Fowler, L. C. Noll, K.-P. Vo).
uint64_t hash(const std::string& bytes, uint64_t seed) noexcept {
  uint64_t value = seed;
  for (const char byte : bytes) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  return value;
}
constexpr uint64_t kFirstSeed = 0xcbf29ce484222325ULL, kSecondSeed = 0x84222325cbf29ce4ULL;

struct Header {
  std::array<char, 8> magic;
  uint64_t bytes;
  uint64_t checksum;
};

}  // namespace

CubinCache::CubinCache(Options options) : options_(std::move(options)) {
  std::error_code ignored;
  if (!options_.directory.empty()) fs::create_directories(options_.directory, ignored);
}

std::string CubinCache::key(const std::string& ptx, const std::string& architecture, int driver) {
  const std::string all = architecture + '\n' + std::to_string(driver) + '\n' + ptx;
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash(all, kFirstSeed)),
                static_cast<unsigned long long>(hash(all, kSecondSeed)));
  return text.data();
}

std::string CubinCache::path(const std::string& key) const {
  return options_.directory + "/" + key + kEnding;
}

std::optional<std::string> CubinCache::find(const std::string& key) const noexcept try {
  if (options_.directory.empty()) return std::nullopt;
  std::ifstream file(path(key), std::ios::binary);
  if (!file) return std::nullopt;
  Header header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  std::string cubin{std::istreambuf_iterator<char>(file), {}};
  if (header.magic != kMagic || header.bytes != cubin.size() || header.checksum != hash(cubin, kFirstSeed)) {
    std::error_code ignored;
    fs::remove(path(key), ignored);
    return std::nullopt;
  }
  ::utimensat(AT_FDCWD, path(key).c_str(), nullptr, 0);  // used now: the oldest go first
  return cubin;
} catch (const std::exception&) {
  return std::nullopt;
}

void CubinCache::keep(const std::string& key, const std::string& cubin) const noexcept try {
  if (options_.directory.empty()) return;
  // Ends as the others do, so that one which a crash left behind goes in its turn.
  std::string unfinished = options_.directory + "/" + key + ".XXXXXX" + kEnding;
  const int descriptor = ::mkstemps(unfinished.data(), int(std::strlen(kEnding)));
  if (descriptor < 0) return;
  ::close(descriptor);
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    const Header header{kMagic, cubin.size(), hash(cubin, kFirstSeed)};
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(cubin.data(), static_cast<std::streamsize>(cubin.size()));
    file.close();
    if (!file) {
      ::unlink(unfinished.c_str());
      return;
    }
  }
  if (::rename(unfinished.c_str(), path(key).c_str()) != 0) ::unlink(unfinished.c_str());
  remove_oldest();
} catch (const std::exception&) {
  // Linked again next time.
}

void CubinCache::remove_oldest() const {
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(options_.directory, error)) {
    if (entry.path().extension() != kEnding || !entry.is_regular_file(error)) continue;
    files.push_back({entry.last_write_time(error), entry.file_size(error), entry.path()});
    bytes += files.back().bytes;
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (bytes <= options_.most_bytes) return;
    fs::remove(file.path, error);
    bytes -= file.bytes;
  }
}

}  // namespace framelane::cuda
