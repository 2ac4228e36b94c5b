#include "io/sinks/memory.h"

#include "io/fields.h"

namespace framelane::io {
namespace {

// Thread-safety: see Sink; it has no state.
class MemorySink final : public Sink {
 public:
  Status open(const FrameFormat&) override { return {}; }
  Status write(const ResultFrame&) override { return {}; }
  Status close() override { return {}; }
};

}  // namespace

Result<SinkSpec> make_memory_sink(const Fields& fields) {
  if (Status read = FieldReader("memory", fields).finish(); !read) return read.error();
  SinkSpec spec;
  spec.name = "memory";
  spec.make = [] { return std::make_unique<MemorySink>(); };
  spec.wants_host = true;
  spec.threadless = true;
  return spec;
}

}  // namespace framelane::io
