// The arguments of compiled code, kept in the order that Graph states and filled in place for each frame.
#pragma once

#include <Halide.h>

#include <span>
#include <string>
#include <vector>

#include "core/pipeline.h"
#include "halide/plan.h"

namespace framelane::halide {

// Thread-safety: owned by one channel. Nothing allocates after construction, but for parameters() and errors.
class CallArguments {
 public:
  // `tasks`: pieces that a frame is divided into. The plan outlives it.
  CallArguments(const Plan& plan, uint32_t tasks);
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;

  // For one call; what the pointers point to outlives it.
  [[nodiscard]] std::span<const void* const> of_frame(Halide::JITUserContext* const* context, Extent extent,
                                                      const halide_buffer_t* input,
                                                      const halide_buffer_t* output) noexcept;

  [[nodiscard]] std::vector<ParameterInfo> parameters() const;
  // Out of range or unknown: invalid_argument, nothing changed.
  Status set_parameter(const std::string& name, double value);

 private:
  struct Parameter {
    ParameterInfo info;
    float value = 0;  // what the code reads
  };

  const Plan& plan_;
  std::vector<int32_t> numbers_;
  std::vector<Parameter> parameters_;
  std::vector<const void*> arguments_;
};

}  // namespace framelane::halide
