#include "io/make.h"

#include "io/fields.h"
#include "io/plugin.h"
#include "io/sinks/compare.h"
#include "io/sinks/file.h"
#include "io/sinks/memory.h"
#include "io/sinks/shm.h"
#include "io/sources/pattern.h"
#include "io/sources/raw.h"
#include "io/sources/shm.h"
#include "io/sources/y4m.h"

namespace framelane::io {
namespace {

Result<SinkSpec> make_none(const Fields& fields) {
  if (Status read = FieldReader("none", fields).finish(); !read) return read.error();
  SinkSpec spec;
  spec.name = "none";
  spec.wants_host = false;
  return spec;
}

constexpr const char* kFfmpegPackages = "libavformat-dev libavcodec-dev libavutil-dev libswscale-dev pkg-config";

}  // namespace

Result<std::unique_ptr<Source>> make_source(const std::string& type, const Fields& fields,
                                            const std::optional<Phase>& phase) {
  if (type == "pattern") return make_pattern_source(fields, phase);
  if (type == "raw") return make_raw_source(fields, phase);
  if (type == "y4m") return make_y4m_source(fields, phase);
  if (type == "shm") return make_shm_source(fields);
  if (type == "ffmpeg") return make_plugin_source("ffmpeg", kFfmpegPackages, fields, phase);
  return Error{ErrorCode::invalid_argument, "there is no source '" + type + "'"};
}

Result<SinkSpec> make_sink(const std::string& type, const Fields& fields) {
  if (type == "none") return make_none(fields);
  if (type == "memory") return make_memory_sink(fields);
  if (type == "compare") return make_compare_sink(fields);
  if (type == "file") return make_file_sink(fields);
  if (type == "shm") return make_shm_sink(fields);
  return Error{ErrorCode::invalid_argument, "there is no sink '" + type + "'"};
}

}  // namespace framelane::io
