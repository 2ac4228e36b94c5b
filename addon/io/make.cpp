#include "io/make.h"

#include "io/shm/options.h"

namespace framelane::io {

Result<std::unique_ptr<Source>> make_source(const std::string& type, const Fields& fields) {
  if (type == "shm") {
    Result<ShmSourceConfig> config = shm::source_options(fields);
    return config ? make_shm_source(config.take()) : config.error();
  }
  return Error{ErrorCode::invalid_argument, "there is no source '" + type + "'"};
}

Result<SinkSpec> make_sink(const std::string& type, const Fields&) {
  return Error{ErrorCode::invalid_argument, "there is no sink '" + type + "'"};
}

}  // namespace framelane::io
