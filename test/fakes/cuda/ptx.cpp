#include "fakes/cuda/ptx.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

namespace framelane::fake_cuda {
namespace {

std::string without_comments(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      clean += text[at++];
    }
  }
  return clean;
}

// Names with their dots, dollars and percent signs; every other sign is a word of its own.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%';
    };
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    if (is_name(text[at]))
      while (end < text.size() && is_name(text[end])) ++end;
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// ".u64" -> 8; 0: no type.
size_t type_bytes(const std::string& word) {
  if (word.size() < 3 || word[0] != '.' || std::string("busf").find(word[1]) == std::string::npos) return 0;
  char* end = nullptr;
  const unsigned long bits = std::strtoul(word.c_str() + 2, &end, 10);
  return *end == '\0' ? bits / 8 : 0;
}

struct NamedParameter {
  std::string name;
  size_t bytes = 0;
};

// ".param .u64 .ptr .global .align 4 name", ".param .align 8 .b8 name[24]"
std::optional<NamedParameter> read_parameter(const std::vector<std::string>& words) {
  NamedParameter parameter;
  size_t count = 1;
  for (size_t at = 0; at < words.size(); ++at) {
    if (const size_t bytes = type_bytes(words[at]); bytes > 0) parameter.bytes = bytes;
    if (words[at] == "[" && at + 1 < words.size()) {
      count = std::strtoul(words[at + 1].c_str(), nullptr, 10);
      break;
    }
    if (words[at][0] != '.' && std::isdigit(static_cast<unsigned char>(words[at][0])) == 0) parameter.name = words[at];
  }
  parameter.bytes *= count;
  if (parameter.name.empty() || parameter.bytes == 0) return std::nullopt;
  return parameter;
}

bool starts_with(const std::string& word, std::string_view prefix) {
  return word.compare(0, prefix.size(), prefix) == 0;
}

// Follows parameters through registers, without regard to the order of the instructions.
class StoreFinder {
 public:
  explicit StoreFinder(const std::vector<NamedParameter>& parameters) : parameters_(parameters) {}

  void read(std::string_view body) {
    size_t begin = 0;
    while (begin < body.size()) {
      const size_t end = std::min(body.find(';', begin), body.size());
      statements_.push_back(words_of(body.substr(begin, end - begin)));
      begin = end + 1;
    }
    for (bool grew = true; grew;) {
      grew = false;
      for (const std::vector<std::string>& words : statements_) grew = follow(words) || grew;
    }
  }

  // One that the body never loads is anybody's guess.
  [[nodiscard]] bool written(size_t parameter) const {
    return stored_.count(parameter) > 0 || loaded_.count(parameter) == 0;
  }

 private:
  bool add(std::set<size_t>& to, const std::set<size_t>& from) {
    const size_t before = to.size();
    to.insert(from.begin(), from.end());
    return to.size() > before;
  }

  std::set<size_t> found_in(const std::vector<std::string>& words, size_t begin, size_t end) const {
    std::set<size_t> found;
    for (size_t at = begin; at < end; ++at)
      if (const auto known = registers_.find(words[at]); known != registers_.end())
        found.insert(known->second.begin(), known->second.end());
    return found;
  }

  bool follow(const std::vector<std::string>& words) {
    size_t at = 0;
    while (at < words.size() && std::isalpha(static_cast<unsigned char>(words[at][0])) == 0) ++at;  // @%p1, {, ...
    if (!words.empty() && at > 1 && words[at - 1] == "!") ++at;
    if (at + 1 >= words.size()) return false;
    const std::string& instruction = words[at];
    if (starts_with(instruction, "ld.param")) {
      bool grew = false;
      for (size_t word = at + 2; word < words.size(); ++word)
        for (size_t index = 0; index < parameters_.size(); ++index)
          if (words[word] == parameters_[index].name) {
            loaded_.insert(index);
            grew = add(registers_[words[at + 1]], {index}) || grew;
          }
      return grew;
    }
    const bool local =
        instruction.find(".shared") != std::string::npos || instruction.find(".local") != std::string::npos;
    if (starts_with(instruction, "st.") || starts_with(instruction, "atom") || starts_with(instruction, "red.")) {
      if (local || starts_with(instruction, "st.param")) return false;
      const size_t open = static_cast<size_t>(std::find(words.begin(), words.end(), "[") - words.begin());
      const size_t close = static_cast<size_t>(std::find(words.begin(), words.end(), "]") - words.begin());
      return add(stored_, found_in(words, std::min(open, close), close));
    }
    if (starts_with(instruction, "call")) return add(stored_, found_in(words, at + 1, words.size()));
    if (starts_with(instruction, "ld.")) return false;
    const std::set<size_t> sources = found_in(words, at + 2, words.size());
    return !sources.empty() && add(registers_[words[at + 1]], sources);
  }

  const std::vector<NamedParameter>& parameters_;
  std::vector<std::vector<std::string>> statements_;
  std::map<std::string, std::set<size_t>> registers_;
  std::set<size_t> loaded_, stored_;
};

size_t body_end(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

bool read_entry(std::string_view text, size_t& at, PtxModule& out) {
  const size_t open = text.find_first_of("({", at);
  if (open == std::string_view::npos) return false;
  KernelImage kernel;
  const std::vector<std::string> name = words_of(text.substr(at, open - at));
  if (name.size() != 1) return false;
  kernel.name = name[0];
  std::vector<NamedParameter> parameters;
  size_t after = open;
  if (text[open] == '(') {
    const size_t close = text.find(')', open);
    if (close == std::string_view::npos) return false;
    for (size_t begin = open + 1; begin < close;) {
      const size_t end = std::min(text.find(',', begin), close);
      const std::vector<std::string> words = words_of(text.substr(begin, end - begin));
      begin = end + 1;
      if (words.empty()) continue;
      const std::optional<NamedParameter> parameter = read_parameter(words);
      if (!parameter) return false;
      parameters.push_back(*parameter);
    }
    after = close;
  }
  const size_t body = text.find('{', after);
  const size_t end = body == std::string_view::npos ? body : body_end(text, body);
  if (end == std::string_view::npos) return false;
  StoreFinder stores(parameters);
  stores.read(text.substr(body + 1, end - body - 1));
  for (size_t index = 0; index < parameters.size(); ++index)
    kernel.parameters.push_back({parameters[index].bytes, stores.written(index)});
  out.kernels.push_back(std::move(kernel));
  at = end;
  return true;
}

}  // namespace

std::optional<PtxFault> read_ptx(std::string_view raw, PtxModule& out) {
  const std::string text = without_comments(raw);
  if (text.find(".version") == std::string::npos) return PtxFault::not_ptx;
  if (const size_t target = text.find("sm_"); text.find(".target") != std::string::npos && target != std::string::npos)
    out.sm = std::atoi(text.c_str() + target + 3);
  for (size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at)) {
    at += std::string_view(".entry").size();
    if (!read_entry(text, at, out)) return PtxFault::broken;
  }
  return std::nullopt;
}

}  // namespace framelane::fake_cuda
