// Memory near the device that copies it.
#pragma once

#include <cstdint>

namespace framelane {

// While it lives, pages that this thread is the first to touch come from this NUMA node as long as it has any; then
// the thread's former policy holds again. No node (below 0), or a machine that does not let us: nothing changes.
// Thread-safety: made and destroyed on one thread, which it speaks for.
class PreferredNode {
 public:
  explicit PreferredNode(int node) noexcept;
  ~PreferredNode();
  PreferredNode(const PreferredNode&) = delete;
  PreferredNode& operator=(const PreferredNode&) = delete;

  [[nodiscard]] bool holds() const noexcept { return holds_; }

 private:
  static constexpr unsigned kMostNodes = 1024;
  static constexpr unsigned kWordBits = 8 * sizeof(unsigned long);
  struct Nodes {
    unsigned long words[kMostNodes / kWordBits] = {};
  };

  int former_mode_ = 0;
  Nodes former_nodes_;
  bool holds_ = false;
};

}  // namespace framelane
