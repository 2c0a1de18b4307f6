#include "sinter/frontend/ops/indexing.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// The positions that a range takes of a dimension, ascending. The last comes first if `is_reversed`.
struct Positions {
  int64_t start = 0, limit = 0, step = 1;
  bool is_reversed = false;
};

std::string TextOf(const Range& range) {
  const auto text = [](const std::optional<int64_t>& number) {
    return number.has_value() ? absl::StrCat(*number) : std::string("{}");
  };
  const std::string step = range.step == 1 ? "" : absl::StrCat(", ", range.step);
  return absl::StrCat("Range{", text(range.start), ", ", text(range.limit), step, "}");
}

// A builder of the part of one tensor.
class Part {
 public:
  Part(const Tensor& x, std::span<const Index> subscripts, Where where)
      : x_(x), subscripts_(subscripts), where_(where), call_("Index", where, OperandsOf(x, subscripts)) {}

  Tensor Build() {
    if (!call_.ok() || !Expand()) return {};
    for (const Index::Kind& entry : entries_) {
      if (!Visit(entry)) return {};
    }
    return Take();
  }

 private:
  static std::vector<Tensor> OperandsOf(const Tensor& x, std::span<const Index> subscripts) {
    std::vector<Tensor> operands = {x};
    for (const Index& subscript : subscripts) {
      if (const Tensor* const tensor = std::get_if<Tensor>(&subscript.kind())) operands.push_back(*tensor);
    }
    return operands;
  }

  bool Fail(std::string_view message) {
    call_.Fail(message);
    return false;
  }

  // Replaces the Ellipsis by ranges, or adds them at the end.
  bool Expand() {
    int64_t named = 0, ellipses = 0;
    for (const Index& subscript : subscripts_) {
      if (std::holds_alternative<EllipsisIndex>(subscript.kind())) {
        ++ellipses;
      } else if (!std::holds_alternative<NewAxisIndex>(subscript.kind())) {
        ++named;
      }
    }
    if (ellipses > 1) return Fail("has more than one Ellipsis");
    if (named > x_.rank()) {
      return Fail(absl::StrCat("has ", named, named == 1 ? " subscript for " : " subscripts for ", x_.rank(),
                               x_.rank() == 1 ? " dimension" : " dimensions"));
    }
    const auto rest = static_cast<size_t>(x_.rank() - named);
    for (const Index& subscript : subscripts_) {
      if (std::holds_alternative<EllipsisIndex>(subscript.kind())) {
        entries_.insert(entries_.end(), rest, Index::Kind(Range{}));
      } else {
        entries_.push_back(subscript.kind());
      }
    }
    if (ellipses == 0) entries_.insert(entries_.end(), rest, Index::Kind(Range{}));
    return true;
  }

  bool Visit(const Index::Kind& entry) {
    if (std::holds_alternative<NewAxisIndex>(entry)) {
      shape_.push_back(1);
      is_after_indices_ = !indices_.empty();
      return true;
    }
    const auto d = static_cast<int64_t>(positions_.size());
    const int64_t size = x_.dim(d);
    if (const Tensor* const indices = std::get_if<Tensor>(&entry)) return VisitIndices(*indices, size);
    if (const int64_t* const number = std::get_if<int64_t>(&entry)) {
      const int64_t at = *number < 0 ? *number + size : *number;
      if (at < 0 || at >= size) {
        return Fail(absl::StrCat("has no position ", *number, " in dimension ", d, ", whose size is ", size));
      }
      positions_.push_back({at, at + 1});
      return true;
    }
    const std::optional<Positions> taken = PositionsOf(std::get<Range>(entry), d, size);
    if (!taken) return false;
    positions_.push_back(*taken);
    shape_.push_back((taken->limit - taken->start + taken->step - 1) / taken->step);
    reduced_.push_back(shape_.back());
    is_after_indices_ = !indices_.empty();
    return true;
  }

  bool VisitIndices(const Tensor& indices, int64_t size) {
    const auto d = static_cast<int64_t>(positions_.size());
    if (indices.dtype() == I1) {
      return Fail(absl::StrCat("takes no mask, as dimension ", d,
                               " has: use Select, or the positions of what you want"));
    }
    if (indices.dtype() != I32 && indices.dtype() != I64) {
      return Fail("takes i32 or i64 indices; Cast(indices, I32) first");
    }
    if (is_after_indices_) {
      return Fail("has index tensors with other subscripts between them: Transpose first");
    }
    if (size == 0) return Fail(absl::StrCat("takes from dimension ", d, ", whose size is 0"));
    if (indices_.empty()) {
      first_indexed_ = static_cast<int64_t>(reduced_.size());
      place_of_indices_ = shape_.size();
    }
    indices_.push_back(indices);
    indexed_sizes_.push_back(size);
    positions_.push_back({0, size});
    reduced_.push_back(size);
    return true;
  }

  std::optional<Positions> PositionsOf(const Range& range, int64_t d, int64_t size) {
    const auto fail = [&](const char* why) -> std::optional<Positions> {
      Fail(absl::StrCat(TextOf(range), " of dimension ", d, ", whose size is ", size, ": ", why));
      return std::nullopt;
    };
    if (range.step == 0) return fail("the step is 0");
    const bool is_down = range.step < 0;
    const int64_t last = is_down ? size - 1 : size;
    for (const std::optional<int64_t>& number : {range.start, range.limit}) {
      if (number && (*number < -size || *number > last)) return fail("it leaves the dimension");
    }
    const auto counted = [&](int64_t number) { return number < 0 ? number + size : number; };
    // Going down, the limit is the position before the first one.
    const int64_t start = range.start ? counted(*range.start) : is_down ? size - 1 : 0;
    const int64_t limit = range.limit ? counted(*range.limit) : is_down ? -1 : size;
    const int64_t low = is_down ? limit + 1 : start, high = is_down ? start + 1 : limit;
    if (low > high) return fail(is_down ? "it begins below its limit" : "it begins above its limit");
    // A longer step takes one position too.
    const int64_t longest = std::max<int64_t>(size, 1);
    const int64_t step = std::abs(std::clamp(range.step, -longest, longest));
    if (!is_down) return Positions{low, high, step, false};
    const int64_t count = (high - low + step - 1) / step;
    return Positions{count == 0 ? low : start - (count - 1) * step, high, step, true};
  }

  // Slices, reverses, and drops dimensions; then takes what the index tensors say.
  Tensor Take() {
    Shape starts, limits, steps, reversed;
    bool is_all = true;
    for (size_t d = 0; d < positions_.size(); ++d) {
      const Positions& p = positions_[d];
      starts.push_back(p.start), limits.push_back(p.limit), steps.push_back(p.step);
      is_all = is_all && p.start == 0 && p.limit == x_.dim(static_cast<int64_t>(d)) && p.step == 1;
      if (p.is_reversed && p.limit - p.start > 1) reversed.push_back(static_cast<int64_t>(d));
    }
    Tensor y = is_all ? x_ : Slice(x_, starts, limits, steps, where_);
    if (!reversed.empty()) y = Reverse(y, reversed, where_);
    if (indices_.empty()) return Shaped(y);
    if (y.shape() != reduced_) y = Reshape(y, reduced_, where_);
    const Tensor taken = Flat(y);
    const Shape inner = taken.shape();
    y = Gather(flattened_, taken, first_indexed_, where_);
    shape_.insert(shape_.begin() + static_cast<std::ptrdiff_t>(place_of_indices_), inner.begin(),
                  inner.end());
    return Shaped(y);
  }

  Tensor Shaped(const Tensor& y) { return !y.ok() || y.shape() == shape_ ? y : Reshape(y, shape_, where_); }

  // Makes one dimension of those that the index tensors stand for, and returns the positions in it.
  Tensor Flat(const Tensor& y) {
    flattened_ = y;
    if (indices_.size() == 1) return indices_[0];
    std::vector<Shape> shapes;
    for (const Tensor& indices : indices_) shapes.push_back(indices.shape());
    const std::optional<Shape> common = BroadcastShapes(shapes);
    if (!common) {
      call_.Fail("has index tensors that do not broadcast together");
      return {};
    }
    Shape flat = y.shape();
    const auto first = flat.begin() + first_indexed_;
    int64_t all = 1;
    for (const int64_t size : indexed_sizes_) all *= size;
    flat.erase(first + 1, first + static_cast<std::ptrdiff_t>(indices_.size()));
    flat[static_cast<size_t>(first_indexed_)] = all;
    flattened_ = Reshape(y, flat, where_);
    Tensor position;
    for (size_t i = 0; i < indices_.size(); ++i) {
      const Tensor index = BroadcastTo(Inside(indices_[i], indexed_sizes_[i]), *common, where_);
      const Operand number(index, where_), size(indexed_sizes_[i], where_);
      position = i == 0 ? index : Operand(Operand(position, where_) * size, where_) + number;
    }
    return position;
  }

  // Returns the indices as i64, clamped to their dimension. CompileOptions::check_indices checks the Gather.
  Tensor Inside(const Tensor& indices, int64_t size) {
    const Tensor numbers = call_.Done(call_.b().iota({size}, call_.element(I64), 0));
    return Gather(numbers, indices, 0, where_);
  }

  const Tensor& x_;
  const std::span<const Index> subscripts_;
  const Where where_;
  Call call_;
  std::vector<Index::Kind> entries_;  // One for each dimension of x, and new ones.
  std::vector<Positions> positions_;  // By dimension of x.
  Shape reduced_;                     // Without the dimensions that numbers drop.
  Shape shape_;                       // The result's, but for the dimensions of the index tensors.
  std::vector<Tensor> indices_;
  Shape indexed_sizes_;
  int64_t first_indexed_ = 0;  // In `reduced_`.
  size_t place_of_indices_ = 0;
  bool is_after_indices_ = false;
  Tensor flattened_;
};

}  // namespace

Tensor Tensor::operator[](const Index& subscript) const {
  return Part(*this, std::span(&subscript, 1), subscript.where()).Build();
}

Tensor Tensor::operator[](std::initializer_list<Index> subscripts) const {
  const Where where = subscripts.size() == 0 ? Where::current() : subscripts.begin()->where();
  return Part(*this, std::span(subscripts.begin(), subscripts.size()), where).Build();
}

}  // namespace sinter
