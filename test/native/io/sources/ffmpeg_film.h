// Small films for the ffmpeg source's tests, made with FFmpeg's own libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace framelane::io::test {

struct FilmPart {
  int width = 0;
  int height = 0;
  int frames = 0;
};

// MPEG-2 elementary video, one key frame after the other; a part may have another size than the one before.
// Frame n is grey of level 16 + 10 * n. Returns the file's bytes.
[[nodiscard]] std::string make_mpeg2_film(const std::vector<FilmPart>& parts);

}  // namespace framelane::io::test
