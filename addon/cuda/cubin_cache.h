// Machine code on disk, so that a pipeline that was linked once on this machine is not linked again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace framelane::cuda {

// One file per piece of code, named by what it was made from. Files are written under another name and renamed, carry a
// checksum, and the ones not used for longest go when there are too many. Whatever goes wrong with the directory only
// means that code is linked again.
// Thread-safety: any thread, any number of processes on one directory.
class CubinCache {
 public:
  struct Options {
    std::string directory;  // empty: nothing is kept
    uint64_t most_bytes = uint64_t{256} << 20;
  };
  explicit CubinCache(Options options);

  // `architecture`: "sm_90"; `driver`: its version, for a newer one may know better code.
  [[nodiscard]] static std::string key(const std::string& ptx, const std::string& architecture, int driver);

  // nullopt: not there. A file that is damaged is removed.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const noexcept;
  void keep(const std::string& key, const std::string& cubin) const noexcept;

 private:
  [[nodiscard]] std::string path(const std::string& key) const;
  void remove_oldest() const;

  Options options_;
};

}  // namespace framelane::cuda
