#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "io/plugin.h"

namespace framelane::io {
namespace {

// The directory of the addon or test that this code is linked into; empty where the loader cannot say.
std::string own_directory() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(&load_plugin), &found) == 0 || found.dli_fname == nullptr) return {};
  const std::string_view file(found.dli_fname);
  const size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(file.substr(0, slash));
}

std::vector<std::string> plugin_directories() {
  std::vector<std::string> directories;
  const char* set = std::getenv("FRAMELANE_PLUGIN_PATH");
  if (set == nullptr || *set == '\0') return {own_directory() + "/plugins"};
  std::string_view left(set);
  while (!left.empty()) {
    const size_t end = std::min(left.find(':'), left.size());
    if (end != 0) directories.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return directories;
}

}  // namespace

Result<const PluginInterface*> load_plugin(const std::string& name) {
  std::string looked;
  for (const std::string& directory : plugin_directories()) {
    const std::string file = directory + "/" + name + ".so";
    if (::access(file.c_str(), F_OK) != 0) {
      looked += (looked.empty() ? "" : ", ") + file;
      continue;
    }
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr)
      return Error{ErrorCode::unsupported, std::string("cannot load the plug-in: ") + ::dlerror()};
    const auto* plugin = static_cast<const PluginInterface*>(::dlsym(library, kPluginSymbol));
    if (plugin == nullptr) return Error{ErrorCode::unsupported, file + " is no plug-in of Framelane"};
    if (std::strcmp(plugin->abi, FRAMELANE_PLUGIN_ABI) != 0)
      return Error{ErrorCode::unsupported, file + " was built for another version of Framelane: run npm run build"};
    return plugin;
  }
  return Error{ErrorCode::unsupported, "there is no " + looked};
}

Result<std::unique_ptr<Source>> make_plugin_source(const std::string& name, const std::string& packages,
                                                   const Fields& fields, const std::optional<Phase>& phase) {
  const Result<const PluginInterface*> plugin = load_plugin(name);
  if (!plugin)
    return Error{ErrorCode::unsupported, "this build has no " + name + " source (" + plugin.error().message +
                                             "): install " + packages +
                                             " and build again; scripts/setup-dev does both"};
  return plugin.value()->make_source(fields, phase);
}

}  // namespace framelane::io
