#include "core/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace framelane {

PreferredNode::PreferredNode(int node) noexcept {
  if (node < 0 || unsigned(node) >= kMostNodes - 1) return;
  if (syscall(SYS_get_mempolicy, &former_mode_, former_nodes_.words, kMostNodes, nullptr, 0) != 0) return;
  Nodes nodes;
  nodes.words[unsigned(node) / kWordBits] = 1UL << unsigned(node) % kWordBits;
  holds_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes.words, kMostNodes) == 0;
}

PreferredNode::~PreferredNode() {
  if (holds_) syscall(SYS_set_mempolicy, former_mode_, former_nodes_.words, kMostNodes);
}

}  // namespace framelane
