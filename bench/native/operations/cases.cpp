#include "native/operations/cases.h"

#include <algorithm>
#include <cstring>

#include "halide/operations/names.h"

namespace framelane::bench {
namespace {

// Of a frame's width or height: what crop and resize leave of it.
double two_thirds(uint32_t extent) {
  return std::max(1U, extent * 2 / 3);
}

std::string to_extent(double width, double height) {
  return " to " + std::to_string(static_cast<int>(width)) + "x" + std::to_string(static_cast<int>(height));
}

OperationCase resize(const char* method, double width, double height) {
  return {"resize" + to_extent(width, height) + ", " + method,
          {"resize", {{"width", width}, {"height", height}, {"method", std::string(method)}}}};
}

OperationCase crop(uint32_t width, uint32_t height) {
  const double columns = two_thirds(width), rows = two_thirds(height);
  const double left = std::min(100U, width / 3), top = std::min(100U, height / 3);
  return {"crop" + to_extent(columns, rows), {"crop", {{"x", left}, {"y", top}, {"width", columns}, {"height", rows}}}};
}

}  // namespace

Result<std::vector<OperationCase>> operation_cases(uint32_t width, uint32_t height) {
  const double columns = two_thirds(width), rows = two_thirds(height);
  const std::vector<double> matrix{1.6, -0.4, -0.2, -0.3, 1.5, -0.2, 0, -0.6, 1.6};
  std::vector<OperationCase> cases = {
      {"gain", {"gain", {{"value", 1.5}}}},
      {"gamma", {"gamma", {{"value", 2.2}}}},
      {"convert to uint16", {"convert", {{"type", std::string("uint16")}}}},
      crop(width, height),
      {"flip, horizontal", {"flip", {{"value", std::string("horizontal")}}}},
      {"rotate by 90", {"rotate", {{"value", 90.0}}}},
      {"black_level", {"black_level", {{"value", std::string("6.25%")}}}},
      {"threshold", {"threshold", {{"value", std::string("50%")}}}},
      {"white_balance", {"white_balance", {{"red", 1.9}, {"green", 1.0}, {"blue", 1.4}}}, true},
      {"color_matrix", {"color_matrix", {{"matrix", matrix}}}, true},
      {"unsharp, radius 1", {"unsharp", {{"amount", 0.8}}}},
      {"gaussian, radius 1.5", {"gaussian", {{"radius", 1.5}}}},
      {"median 3x3", {"median", {{"size", 3.0}}}},
      {"median 5x5", {"median", {{"size", 5.0}}}},
      {"local_contrast, 3 levels", {"local_contrast", {{"gain", 1.2}, {"levels", 3.0}}}},
      resize("nearest", columns, rows),
      resize("bilinear", columns, rows),
      resize("bicubic", columns, rows),
      resize("area", columns, rows),
  };
  for (const std::string& name : halide::operation_names()) {
    const auto is_of = [&](const OperationCase& one) { return one.operation.name == name; };
    if (std::none_of(cases.begin(), cases.end(), is_of))
      return Error{ErrorCode::internal, "nothing is measured of the operation " + name};
  }
  return cases;
}

PipelineRequest request_of(const OperationCase& measured, const FrameFormat& format) {
  PipelineRequest request;
  request.channel = measured.name;
  request.spec.operations = {measured.operation};
  request.inputs = {format};
  return request;
}

std::vector<std::byte> noise_of(const FrameFormat& format) {
  std::vector<std::byte> bytes(format.bytes());
  uint32_t state = 1;
  const bool floats = info(format.pixel).type == SampleType::float32;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    state = state * 1'664'525U + 1'013'904'223U;
    const float value = static_cast<float>(state >> 8) / 16'777'216.0F;
    std::memcpy(&bytes[i], floats ? static_cast<const void*>(&value) : &state, 4);
  }
  return bytes;
}

}  // namespace framelane::bench
