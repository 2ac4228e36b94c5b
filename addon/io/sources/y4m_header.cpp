#include "io/sources/y4m_header.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "io/fields.h"

namespace framelane::io {
namespace {

constexpr std::string_view kMagic = "YUV4MPEG2";
constexpr double kLeastFps = 0.001;
constexpr double kMostFps = 100'000;

std::optional<uint32_t> number(std::string_view text) noexcept {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What a message may quote of a file: short, and printable.
std::string quoted(std::string_view text) {
  std::string out(text.substr(0, 32));
  std::replace_if(out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + out + "'";
}

Error malformed(const std::string& what) {
  return Error{ErrorCode::source_malformed, "YUV4MPEG2 header: " + what};
}

Status read_side(std::string_view text, const char* name, uint32_t& side) {
  const std::optional<uint32_t> value = number(text);
  if (!value || *value == 0 || *value > kLargestSide)
    return malformed(std::string(name) + " is " + quoted(text) + ", must be 1 to " + std::to_string(kLargestSide));
  side = *value;
  return {};
}

Status read_rate(std::string_view text, double& fps) {
  const size_t colon = text.find(':');
  const auto numerator = number(text.substr(0, colon));
  const auto denominator = colon == std::string_view::npos ? std::nullopt : number(text.substr(colon + 1));
  if (!numerator || !denominator) return malformed("the frame rate is " + quoted(text) + ", must be like 25:1");
  fps = *numerator == 0 || *denominator == 0 ? 0 : static_cast<double>(*numerator) / *denominator;
  if (fps != 0 && !(fps >= kLeastFps && fps <= kMostFps))
    return malformed("a frame rate of " + quoted(text) + " cannot be played");
  return {};
}

Status read_chroma(std::string_view text, Y4mChroma& chroma) {
  if (text == "420" || text == "420jpeg" || text == "420mpeg2" || text == "420paldv")
    chroma = Y4mChroma::c420;
  else if (text == "422")
    chroma = Y4mChroma::c422;
  else if (text == "444")
    chroma = Y4mChroma::c444;
  else if (text == "mono")
    chroma = Y4mChroma::mono;
  else if (text == "mono16")
    chroma = Y4mChroma::mono16;
  else
    return Error{ErrorCode::unsupported, "YUV4MPEG2 colour space C" + quoted(text) +
                                             " is not supported: there are 420, 422, 444 with 8 bits, mono, mono16"};
  return {};
}

}  // namespace

Result<Y4mHeader> parse_y4m_header(std::string_view line) {
  if (!line.starts_with(kMagic) || (line.size() > kMagic.size() && line[kMagic.size()] != ' '))
    return Error{ErrorCode::source_malformed, "does not begin with YUV4MPEG2"};
  Y4mHeader header;
  std::optional<YuvRange> range;
  line.remove_prefix(kMagic.size());
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view item = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    if (item.empty()) continue;
    const std::string_view value = item.substr(1);
    Status read;
    switch (item.front()) {
      case 'W': read = read_side(value, "the width", header.width); break;
      case 'H': read = read_side(value, "the height", header.height); break;
      case 'F': read = read_rate(value, header.fps); break;
      case 'C': read = read_chroma(value, header.chroma); break;
      case 'X':
        if (value == "COLORRANGE=FULL") range = YuvRange::full;
        if (value == "COLORRANGE=LIMITED") range = YuvRange::limited;
        break;
      default: break;  // interlacing and aspect do not change how it is read
    }
    if (!read) return read.error();
  }
  if (header.width == 0) return malformed("the width is missing");
  if (header.height == 0) return malformed("the height is missing");
  // Grey files are grey values unless they say otherwise; colour is video.
  header.range = range.value_or(header.colour() ? YuvRange::limited : YuvRange::full);
  return header;
}

bool is_y4m_frame_line(std::string_view line) noexcept {
  constexpr std::string_view kFrame = "FRAME";
  return line.starts_with(kFrame) && (line.size() == kFrame.size() || line[kFrame.size()] == ' ');
}

}  // namespace framelane::io
