#include "sinter/frontend/ops/indexing.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/scatter.h"
#include "sinter/frontend/ops/subscripts.h"

namespace sinter {
namespace {

// A builder of the part of one tensor.
class Part {
 public:
  Part(const Tensor& x, std::span<const Index> subscripts, Where where)
      : x_(x), subscripts_(subscripts), where_(where), call_("Index", where, TensorsOf(x, subscripts)) {}

  Tensor Build() {
    if (!call_.ok()) return {};
    std::optional<std::vector<Index::Kind>> entries = ExpandSubscripts(call_, x_.rank(), subscripts_);
    if (!entries || !TakeWindows(*entries)) return {};
    for (const Index::Kind& entry : *entries) {
      if (!Visit(entry)) return {};
    }
    return Take();
  }

 private:
  bool Fail(std::string_view message) {
    call_.Fail(message);
    return false;
  }

  // Takes the windows of x, and replaces them by ranges.
  bool TakeWindows(std::vector<Index::Kind>& entries) {
    int64_t d = 0;
    for (Index::Kind& entry : entries) {
      if (const Window* const window = std::get_if<Window>(&entry)) {
        Range taken;
        if (const std::optional<Range> fixed = FixedRange(*window, x_.dim(d))) {
          taken = *fixed;
        } else {
          const std::optional<Tensor> positions = PositionsOf(call_, *window, d, x_.dim(d), where_);
          if (!positions) return false;
          x_ = Gather(x_, *positions, d, where_);
        }
        entry = taken;
      }
      if (!std::holds_alternative<NewAxisIndex>(entry)) ++d;
    }
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
      const std::optional<Positions> taken = PositionsOf(call_, *number, d, size);
      if (taken) positions_.push_back(*taken);
      return taken.has_value();
    }
    const std::optional<Positions> taken = PositionsOf(call_, std::get<Range>(entry), d, size);
    if (!taken) return false;
    positions_.push_back(*taken);
    shape_.push_back(taken->count());
    reduced_.push_back(shape_.back());
    is_after_indices_ = !indices_.empty();
    return true;
  }

  bool VisitIndices(const Tensor& indices, int64_t size) {
    const auto d = static_cast<int64_t>(positions_.size());
    if (!CheckIndexTensor(call_, indices, d)) return false;
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

  Tensor x_;
  const std::span<const Index> subscripts_;
  const Where where_;
  Call call_;
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

Tensor PartOf(const Tensor& x, std::span<const Index> subscripts, Where where) {
  return Part(x, subscripts, where).Build();
}

Tensor Tensor::operator[](const Index& subscript) const {
  return PartOf(*this, std::span(&subscript, 1), subscript.where());
}

Tensor Tensor::operator[](std::initializer_list<Index> subscripts) const {
  const Where where = subscripts.size() == 0 ? Where::current() : subscripts.begin()->where();
  return PartOf(*this, std::span(subscripts.begin(), subscripts.size()), where);
}

Place Tensor::At(std::initializer_list<Index> subscripts) const { return {*this, subscripts}; }

}  // namespace sinter
