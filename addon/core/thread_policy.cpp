#include "core/thread_policy.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace framelane {
namespace {

int set_affinity(const std::vector<uint32_t>& cpus) {
  const size_t most = *std::max_element(cpus.begin(), cpus.end()) + size_t{1};
  cpu_set_t* set = CPU_ALLOC(most);
  if (set == nullptr) return ENOMEM;
  const size_t size_bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(size_bytes, set);
  for (const uint32_t cpu : cpus) CPU_SET_S(cpu, size_bytes, set);
  const int rc = pthread_setaffinity_np(pthread_self(), size_bytes, set);
  CPU_FREE(set);
  return rc;
}

std::string list(const std::vector<uint32_t>& cpus) {
  std::string text;
  for (const uint32_t cpu : cpus) text += (text.empty() ? "" : ", ") + std::to_string(cpu);
  return text;
}

}  // namespace

void name_this_thread(const std::string& name) noexcept {
  char short_name[16] = {};
  std::strncpy(short_name, name.c_str(), sizeof short_name - 1);
  pthread_setname_np(pthread_self(), short_name);
}

std::vector<std::string> apply_to_this_thread(const ThreadPolicy& policy) {
  std::vector<std::string> refused;
  const auto note = [&](const std::string& wish, int error_number) {
    refused.push_back(wish + " was refused: " + std::strerror(error_number));
  };
  if (!policy.cpus.empty()) {
    if (const int rc = set_affinity(policy.cpus); rc != 0) note("affinity to CPU " + list(policy.cpus), rc);
  }
  if (policy.nice != 0) {
    const auto thread = static_cast<id_t>(syscall(SYS_gettid));
    if (setpriority(PRIO_PROCESS, thread, policy.nice) != 0) note("nice " + std::to_string(policy.nice), errno);
  }
  if (policy.fifo_priority != 0) {
    sched_param parameters{};
    parameters.sched_priority = static_cast<int>(policy.fifo_priority);
    const int rc = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
    if (rc != 0) note("SCHED_FIFO priority " + std::to_string(policy.fifo_priority), rc);
  }
  return refused;
}

void sleep_precisely() noexcept {
  constexpr unsigned long kSlackNs = 1'000;
  prctl(PR_SET_TIMERSLACK, kSlackNs);
}

}  // namespace framelane
