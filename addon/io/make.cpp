#include "io/make.h"

namespace framelane::io {

Result<std::unique_ptr<Source>> make_source(const std::string& type, const Fields&) {
  return Error{ErrorCode::invalid_argument, "there is no source '" + type + "'"};
}

Result<SinkSpec> make_sink(const std::string& type, const Fields&) {
  return Error{ErrorCode::invalid_argument, "there is no sink '" + type + "'"};
}

}  // namespace framelane::io
