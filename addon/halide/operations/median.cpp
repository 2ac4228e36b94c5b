// median { size }: of the size x size pixels around, over mirrored borders; a value of the image, in its type.
#include <utility>

#include "halide/graph.h"
#include "halide/operations/arguments.h"
#include "halide/operations/operation.h"

namespace framelane::halide {
namespace {

using Halide::Expr;
using Halide::Func;

void exchange(Expr& lower, Expr& higher) {
  const Expr least = Halide::min(lower, higher), most = Halide::max(lower, higher);
  lower = least;
  higher = most;
}

// The least goes to the front, the most to the back.
void part(std::vector<Expr>& values) {
  const size_t last = values.size() - 1, half = values.size() / 2;
  for (size_t i = 0; i < half; ++i) exchange(values[i], values[last - i]);
  for (size_t i = 1; i < values.size() - half; ++i) exchange(values[0], values[i]);
  for (size_t i = half; i < last; ++i) exchange(values[i], values[last]);
}

// Of an odd number of values. Of half of them and two more, the least and the most cannot be the median: they are
// left out, one that was not looked at takes their place, and so on.
Expr median_of(const std::vector<Expr>& values) {
  size_t next = values.size() / 2 + 2;
  std::vector<Expr> kept(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(next));
  while (kept.size() > 1) {
    part(kept);
    kept.pop_back();
    kept.erase(kept.begin());
    if (next < values.size()) kept.push_back(values[next++]);
  }
  return kept.front();
}

class Median final : public Operation {
 public:
  explicit Median(int32_t size) : size_(size) {}

  std::string key() const override { return "median:" + std::to_string(size_); }
  Area reads(const Area& result, Extent in) const noexcept override { return grown(result, size_ / 2, in); }

  Image build(const Image& unread, Graph& graph) const override {
    const Image in = graph.readable(unread);
    const int reach = size_ / 2;
    std::vector<Func> rows;
    for (int k = -reach; k <= reach; ++k) {
      rows.push_back(graph.mirrored_row("median_row", in, reach, [&](const Expr& column) -> Expr {
        return in.read(column, mirrored(y + k, in.height));
      }));
    }
    Image out = in;
    out.read = [in, rows, reach](const Expr& column, const Expr& row) -> Expr {
      std::vector<Expr> around;
      for (const Func& one : rows)
        for (int k = -reach; k <= reach; ++k) around.push_back(one(in.at(column + k * in.step(), row)));
      return median_of(around);
    };
    out.cheap = false;
    return out;
  }

 private:
  int32_t size_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_median(const OperationSpec& spec, const OperationInput&) {
  Arguments arguments(spec);
  const int32_t size = arguments.whole("size", 3, 5);
  if (Status status = arguments.finish(); !status) return status.error();
  if (size == 4) return pipeline_invalid("`size` is 4 and must be 3 or 5");
  return std::unique_ptr<Operation>(std::make_unique<Median>(size));
}

}  // namespace framelane::halide
