// Source `pattern`: a camera that is not there. Draws once into every slot, then only stamps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/source.h"
#include "io/make.h"
#include "io/pacing.h"
#include "io/sources/pattern_picture.h"

namespace framelane::io {

struct PatternConfig {
  FrameFormat format;
  double fps = 0;  // frames per second; not used with Pace::max
  Pace pace = Pace::realtime;
  Picture picture = Picture::gradient;
  bool moving = true;              // the slots show the picture shifted against each other
  std::optional<uint64_t> frames;  // ends after so many
  std::optional<Phase> phase;      // without one the first frame is due at once
};

[[nodiscard]] Result<std::unique_ptr<Source>> make_pattern_source(const Fields& fields,
                                                                  const std::optional<Phase>& phase);
[[nodiscard]] std::unique_ptr<Source> make_pattern_source(const PatternConfig& config);

}  // namespace framelane::io
