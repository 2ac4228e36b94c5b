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
  bool flat_input = false;  // interleaved colour reaches the graph as rows of samples
  bool flat_output = false;

  [[nodiscard]] std::string key() const;  // equal keys: the same generated code
  // Extent of the result for a frame of this extent; 0 rows or columns: nothing is left of it.
  [[nodiscard]] Extent extent(Extent in) const noexcept;
  // What of such a frame is read.
  [[nodiscard]] Area reads(Extent in) const noexcept;
};

[[nodiscard]] Result<Plan> make_plan(const PipelineRequest& request);

}  // namespace framelane::halide
