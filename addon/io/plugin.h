// Parts of io that need an optional library: shared objects opened with dlopen.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/source.h"
#include "io/make.h"

namespace framelane::io {

// What a plug-in's `framelane_plugin` points to. Both sides are compiled from one tree by one compiler; `abi`
// holds a digest of the headers that stand between them (cmake/plugins.cmake), so that a plug-in left over from
// another build is refused and not called.
struct PluginInterface {
  const char* abi;
  const char* version;  // of the libraries, for people: "FFmpeg 5.1.6"
  Result<std::unique_ptr<Source>> (*make_source)(const Fields& fields, const std::optional<Phase>& phase);
};

inline constexpr const char* kPluginSymbol = "framelane_plugin";

// `name`: "ffmpeg". Looks in the directories of FRAMELANE_PLUGIN_PATH (colons between them), else in plugins/
// beside the file that this code is in. Loaded once and never unloaded: its code outlives every source.
// Thread-safety: any thread. unsupported: it is not there, cannot be loaded, or belongs to another build.
[[nodiscard]] Result<const PluginInterface*> load_plugin(const std::string& name);

// A source of plug-in `name`. Where the plug-in is missing: unsupported, naming `packages`.
[[nodiscard]] Result<std::unique_ptr<Source>> make_plugin_source(const std::string& name, const std::string& packages,
                                                                 const Fields& fields,
                                                                 const std::optional<Phase>& phase);

}  // namespace framelane::io
