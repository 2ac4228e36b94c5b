// Name, affinity and priority of the calling thread.
#pragma once

#include <string>
#include <vector>

#include "core/channel.h"

namespace framelane {

// Only the first 15 bytes are kept by the kernel.
void name_this_thread(const std::string& name) noexcept;

// Applies what the policy asks for. What the system refuses is returned, a sentence each; the thread goes on without.
[[nodiscard]] std::vector<std::string> apply_to_this_thread(const ThreadPolicy& policy);

// The kernel may prolong each sleep of a thread by 50 us, unless told otherwise; from now on by 1 us.
void sleep_precisely() noexcept;

}  // namespace framelane
