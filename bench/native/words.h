// How the benchmarks' programs read a list of their command line.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace framelane::bench {

// "a,b" as a and b; none of an empty list.
[[nodiscard]] inline std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (size_t at = 0; !list.empty() && at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace framelane::bench
