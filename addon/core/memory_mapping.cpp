#include "core/memory_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "core/numa.h"

namespace framelane {
namespace {

constexpr size_t kStepBytes = size_t{512} << 10;  // of fresh pages: less than half a millisecond

template <typename Step>
void in_steps(std::byte* data, size_t size_bytes, const Step& step) noexcept {
  for (size_t done = 0; done < size_bytes; done += kStepBytes)
    step(data + done, std::min(kStepBytes, size_bytes - done));
}

Error refused(const std::string& purpose, size_t size_bytes, const char* call, int error_number) {
  return {ErrorCode::out_of_memory, "the " + purpose + " needs " + describe_bytes(size_bytes) + ": " + call +
                                        " failed: " + std::strerror(error_number)};
}

std::optional<uint64_t> read_number(const char* path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

uint64_t machine_available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  uint64_t kibibytes = 0;
  std::string rest;
  while (file >> key >> kibibytes && std::getline(file, rest)) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::numeric_limits<uint64_t>::max();
}

uint64_t group_available_bytes() {
  const auto most = read_number("/sys/fs/cgroup/memory.max");
  const auto used = read_number("/sys/fs/cgroup/memory.current");
  if (!most || !used) return std::numeric_limits<uint64_t>::max();
  return *most > *used ? *most - *used : 0;
}

}  // namespace

SharedMapping::~SharedMapping() {
  reset();
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

void SharedMapping::reset() noexcept {
  if (data_ != nullptr) unmap(data_, size_bytes_);
  if (fd_ >= 0) close(fd_);
}

Result<SharedMapping> SharedMapping::create(const std::string& purpose, size_t size_bytes, PeerAccess access,
                                            int numa_node) {
  // Asked first: taking the pages of a size that cannot be there would end in the kernel killing someone.
  if (const uint64_t available = available_memory_bytes(); size_bytes > available) {
    return Error{ErrorCode::out_of_memory, "the " + purpose + " needs " + describe_bytes(size_bytes) + "; " +
                                               describe_bytes(available) + " are available"};
  }
  SharedMapping mapping;
  // The kernel takes at most 249 bytes of name.
  mapping.fd_ = memfd_create(purpose.substr(0, 200).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (mapping.fd_ < 0) return refused(purpose, size_bytes, "memfd_create", errno);
  if (size_bytes > static_cast<size_t>(std::numeric_limits<off_t>::max())) {
    return refused(purpose, size_bytes, "ftruncate", EFBIG);
  }
  if (ftruncate(mapping.fd_, static_cast<off_t>(size_bytes)) != 0) {
    return refused(purpose, size_bytes, "ftruncate", errno);
  }
  const PreferredNode node(numa_node);
  const int reserved = fallocate(mapping.fd_, 0, 0, static_cast<off_t>(size_bytes));
  if (reserved != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return refused(purpose, size_bytes, "fallocate", errno);
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapping.fd_, 0);
  if (data == MAP_FAILED) return refused(purpose, size_bytes, "mmap", errno);
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_bytes_ = size_bytes;
  populate(mapping.data_, size_bytes);
  // After our own mapping, which stays writable.
  const int read_only = access == PeerAccess::read_only ? F_SEAL_FUTURE_WRITE : 0;
  if (fcntl(mapping.fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | read_only | F_SEAL_SEAL) != 0) {
    return refused(purpose, size_bytes, "F_ADD_SEALS", errno);
  }
  return mapping;
}

void populate(std::byte* data, size_t size_bytes) noexcept {
  in_steps(data, size_bytes, [](std::byte* at, size_t bytes) {
    if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0) return;
    for (size_t i = 0; i < bytes; i += page_bytes()) {
      volatile std::byte& page = at[i];
      page = page;
    }
  });
}

void unmap(std::byte* data, size_t size_bytes) noexcept {
  in_steps(data, size_bytes, [](std::byte* at, size_t bytes) { munmap(at, bytes); });
}

size_t page_bytes() noexcept {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t round_up_to_page(size_t size_bytes) noexcept {
  const size_t page = page_bytes();
  return (size_bytes + page - 1) / page * page;
}

uint64_t available_memory_bytes() noexcept {
  const uint64_t machine = machine_available_bytes();
  const uint64_t group = group_available_bytes();
  return machine < group ? machine : group;
}

std::string describe_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace framelane
