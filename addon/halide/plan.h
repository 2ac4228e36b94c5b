// A pipeline's list of operations, checked against the frames it will get.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/pipeline.h"
#include "halide/operations/operation.h"

namespace framelane::halide {

struct Step {
  std::string name;  // "gain", the second one "gain#2": the prefix of its parameters
  std::unique_ptr<Operation> operation;
  OperationInput input;
};

// Thread-safety: immutable once made; shared by the compiled code's users.
struct Plan {
  FrameFormat input;   // the largest
  FrameFormat output;  // the largest
  std::vector<Step> steps;
  // Interleaved colour whose every operation looks at single samples: one row of 3 * width samples.
  bool flat = false;

  [[nodiscard]] std::string key() const;  // equal keys: the same generated code
  [[nodiscard]] uint8_t graph_samples() const noexcept { return flat ? 1 : info(input.pixel).samples; }
  [[nodiscard]] int32_t flat_factor() const noexcept { return flat ? info(input.pixel).samples : 1; }
  // Extent of the result for a frame of this extent; 0 rows or columns: nothing is left of it.
  [[nodiscard]] Extent extent(Extent in) const noexcept;
};

[[nodiscard]] Result<Plan> make_plan(const PipelineRequest& request);

}  // namespace framelane::halide
