#include "sinter/frontend/ops/scatter.h"

#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/pointwise.h"
#include "sinter/frontend/ops/subscripts.h"

namespace sinter {
namespace {

const char* NameOf(ScatterKind kind) {
  constexpr const char* kNames[] = {"Set", "Add", "Max", "Min", "Mul"};
  return kNames[static_cast<int>(kind)];
}

ir::ScatterKind KindOf(ScatterKind kind) {
  switch (kind) {
    case ScatterKind::kMax:
      return ir::ScatterKind::max;
    case ScatterKind::kMin:
      return ir::ScatterKind::min;
    case ScatterKind::kMul:
      return ir::ScatterKind::mul;
    default:
      return ir::ScatterKind::set;
  }
}

// One tensor like x but for one part.
class Update {
 public:
  Update(const Tensor& x, std::span<const Index> subscripts, ScatterKind kind, const Operand& values,
         Where where)
      : x_(x),
        subscripts_(subscripts),
        kind_(kind),
        values_(values),
        where_(where),
        call_(NameOf(kind), where, OperandsOf(x, subscripts, values)) {}

  Tensor Build() {
    if (!call_.ok()) return {};
    if (x_.rank() == 0) return call_.Fail("takes a tensor of rank 1 or more, which has parts");
    const bool is_set_bool = x_.dtype() == I1 && kind_ == ScatterKind::kSet;
    if (!IsNumber(x_.dtype()) && !is_set_bool) return call_.Fail(NotNumbers(x_.dtype()));
    std::optional<std::vector<Index::Kind>> entries = ExpandSubscripts(call_, x_.rank(), subscripts_);
    if (!entries || !CheckEntries(*entries)) return {};
    first_ = std::min(first_, static_cast<int64_t>(entries->size()) - 1), last_ = std::max(last_, first_);
    for (int64_t d = 0; d < x_.rank(); ++d) {
      if (!Visit((*entries)[static_cast<size_t>(d)], d)) return {};
    }
    return Combine();
  }

 private:
  // The positions of one of the dimensions that change.
  struct Coordinate {
    Tensor positions;
    size_t place = 0;  // Its first dimension among those of the part.
    int64_t size = 0;  // Positions of the dimension.
    bool is_checked = false;
  };

  static std::vector<Tensor> OperandsOf(const Tensor& x, std::span<const Index> subscripts,
                                        const Operand& values) {
    std::vector<Tensor> operands = TensorsOf(x, subscripts);
    if (values.is_tensor()) operands.push_back(values.tensor());
    return operands;
  }

  static bool IsAll(const Index::Kind& entry) {
    const Range* const range = std::get_if<Range>(&entry);
    return range && !range->start && !range->limit && range->step == 1;
  }

  // Finds the first and the last dimension that the part does not take whole.
  bool CheckEntries(const std::vector<Index::Kind>& entries) {
    std::vector<Shape> shapes;
    for (size_t d = 0; d < entries.size(); ++d) {
      if (std::holds_alternative<NewAxisIndex>(entries[d])) {
        call_.Fail("has a NewAxis; the part of a tensor that changes has none");
        return false;
      }
      if (const Tensor* const indices = std::get_if<Tensor>(&entries[d])) shapes.push_back(indices->shape());
      if (IsAll(entries[d])) continue;
      first_ = std::min(first_, static_cast<int64_t>(d)), last_ = static_cast<int64_t>(d);
    }
    const std::optional<Shape> common = shapes.empty() ? Shape{} : BroadcastShapes(shapes);
    if (!common) call_.Fail("has index tensors that do not broadcast together");
    if (common) indices_shape_ = *common;
    return common.has_value();
  }

  bool Visit(const Index::Kind& entry, int64_t d) {
    const int64_t size = x_.dim(d);
    const bool is_changed = d >= first_ && d <= last_;
    if (!is_changed) {
      part_.push_back(size);
      return true;
    }
    rows_ *= size;
    if (const Tensor* const indices = std::get_if<Tensor>(&entry)) return VisitIndices(*indices, d);
    is_after_indices_ = has_indices_;
    const Window* const window = std::get_if<Window>(&entry);
    const std::optional<Range> fixed = window ? FixedRange(*window, size) : std::nullopt;
    if (window && !fixed) {
      const std::optional<Tensor> positions = PositionsOf(call_, *window, d, size, where_);
      if (positions) Add(*positions, size);
      return positions.has_value();
    }
    const int64_t* const number = std::get_if<int64_t>(&entry);
    const std::optional<Positions> taken =
        number ? PositionsOf(call_, *number, d, size)
               : PositionsOf(call_, fixed ? *fixed : std::get<Range>(entry), d, size);
    if (!taken) return false;
    const int64_t count = taken->count();
    Tensor positions = call_.Done(call_.b().iota({count}, call_.element(I64), 0));
    if (taken->is_reversed) positions = Operand(count - 1, where_) - Operand(positions, where_);
    positions = Operand(positions, where_) * Operand(taken->step, where_);
    positions = Operand(positions, where_) + Operand(taken->start, where_);
    if (number) positions = Reshape(positions, {}, where_);
    Add(positions, size);
    return true;
  }

  bool VisitIndices(const Tensor& indices, int64_t d) {
    if (!CheckIndexTensor(call_, indices, d)) return false;
    if (is_after_indices_) {
      call_.Fail("has index tensors with other subscripts between them: Transpose first");
      return false;
    }
    if (!has_indices_) {
      place_of_indices_ = part_.size();
      part_.insert(part_.end(), indices_shape_.begin(), indices_shape_.end());
    }
    has_indices_ = true;
    coordinates_.push_back(
        {BroadcastTo(indices, indices_shape_, where_), place_of_indices_, x_.dim(d), true});
    return true;
  }

  // Adds positions of rank 1, or of rank 0 for a dimension that the part drops.
  void Add(const Tensor& positions, int64_t size) {
    coordinates_.push_back({positions, part_.size(), size, false});
    for (const int64_t count : positions.shape()) part_.push_back(count);
  }

  // Returns the row of each element of the part, in x with its dimensions from `first_` to `last_` as one; -1
  // for a position out of range. The op ignores a single one by itself.
  Tensor Rows(const Shape& shape) {
    const DType dtype = rows_ <= std::numeric_limits<int32_t>::max() ? I32 : I64;
    const bool is_single = coordinates_.size() == 1;
    Tensor rows, valid;
    for (const Coordinate& c : coordinates_) {
      std::vector<int64_t> dims(c.positions.shape().size());
      std::iota(dims.begin(), dims.end(), static_cast<int64_t>(c.place) - first_);
      const Tensor wide = Cast(c.positions, is_single ? c.positions.dtype() : I64, where_);
      const Tensor at = call_.Done(
          call_.b().broadcast(call_.b().wrap(mlir::Value::getFromOpaquePointer(wide.value())), shape, dims));
      if (is_single) return at;
      const Operand place(at, where_), size(c.size, where_);
      if (c.is_checked) {
        const Tensor inside = Operand(place >= Operand(0, where_), where_) && Operand(place < size, where_);
        valid = valid.ok() ? Operand(valid, where_) && Operand(inside, where_) : inside;
      }
      rows = rows.ok() ? Operand(Operand(rows, where_) * size, where_) + place : at;
    }
    rows = Cast(rows, dtype, where_);
    return valid.ok() ? Select(Operand(valid, where_), Operand(rows, where_), Operand(-1, where_)) : rows;
  }

  Tensor Combine() {
    const auto before = static_cast<size_t>(first_), behind = static_cast<size_t>(x_.rank() - 1 - last_);
    const Shape rows_shape(part_.begin() + first_, part_.end() - static_cast<std::ptrdiff_t>(behind));
    const Shape whole = x_.shape();
    Shape merged(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(before));
    merged.push_back(rows_);
    merged.insert(merged.end(), whole.end() - static_cast<std::ptrdiff_t>(behind), whole.end());
    const std::optional<Tensor> updates = Updates();
    if (!updates) return {};
    const Tensor rows = Rows(rows_shape);
    const bool is_bool = x_.dtype() == I1;
    Tensor y = is_bool ? Cast(x_, U8, where_) : x_;
    if (merged != whole) y = Reshape(y, merged, where_);
    y = Scatter(y, rows, is_bool ? Cast(*updates, U8, where_) : *updates, first_, kind_, where_);
    if (merged != whole) y = Reshape(y, whole, where_);
    return is_bool ? Cast(y, I1, where_) : y;
  }

  // Returns the values in the part's shape.
  std::optional<Tensor> Updates() {
    if (!values_.is_tensor()) {
      const std::optional<ir::Expr> number = Literal(call_, values_.number(), x_.dtype(), part_);
      if (!number) return std::nullopt;
      return call_.Done(*number);
    }
    const Tensor& values = values_.tensor();
    if (values.dtype() != x_.dtype()) {
      call_.Fail(absl::StrCat("takes values of ", std::string(DTypeName(x_.dtype())), "; Cast them first"));
      return std::nullopt;
    }
    const std::optional<Shape> common = BroadcastShapes(std::vector<Shape>{values.shape(), part_});
    if (!common || *common != part_) {
      call_.Fail(absl::StrCat("takes values that broadcast to ", TypeString(x_.dtype(), part_), ", not ",
                              values.ToString()));
      return std::nullopt;
    }
    return BroadcastTo(values, part_, where_);
  }

  const Tensor x_;
  const std::span<const Index> subscripts_;
  const ScatterKind kind_;
  const Operand values_;
  const Where where_;
  Call call_;
  int64_t first_ = std::numeric_limits<int64_t>::max(), last_ = -1;
  int64_t rows_ = 1;  // The product of the sizes of the dimensions from first_ to last_.
  Shape part_;
  std::vector<Coordinate> coordinates_;
  Shape indices_shape_;
  size_t place_of_indices_ = 0;
  bool has_indices_ = false, is_after_indices_ = false;
};

}  // namespace

Tensor Place::Combine(ScatterKind kind, const Operand& values, Where where) const {
  return Update(x_, subscripts_, kind, values, where).Build();
}

Tensor Scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t dim, ScatterKind kind,
               Where where) {
  if (kind == ScatterKind::kAdd) return ScatterAdd(x, indices, updates, dim, where);
  Call call("Scatter", where, {x, indices, updates});
  if (!call.ok()) return {};
  if (indices.dtype() != I32 && indices.dtype() != I64) {
    return call.Fail("takes i32 or i64 indices; Cast(indices, I32) first");
  }
  const std::optional<int64_t> d = call.Dim(dim, x.rank());
  if (!d) return {};
  Shape expected = x.shape();
  const Shape inner = indices.shape();
  expected.erase(expected.begin() + *d);
  expected.insert(expected.begin() + *d, inner.begin(), inner.end());
  if (updates.shape() != expected || updates.dtype() != x.dtype() || !IsNumber(x.dtype())) {
    return call.Fail(absl::StrCat("needs updates of type ", TypeString(x.dtype(), expected)));
  }
  auto op = call.b().builder().create<ir::ScatterOp>(call.loc(), call.value(0).getType(), call.value(0),
                                                     call.value(1), call.value(2), KindOf(kind), *d);
  return call.Done(op.getResult());
}

namespace {

// Windows at the starts. False, with an error kept: not one start for each dimension.
bool MakeWindows(const char* name, const Tensor& x, const std::vector<Operand>& starts, const Shape& sizes,
                 Where where, std::vector<Index>& windows) {
  Call call(name, where, {x});
  if (!call.ok()) return false;
  if (starts.size() != x.shape().size() || sizes.size() != starts.size()) {
    call.Fail(absl::StrCat("has ", starts.size(), " starts and ", sizes.size(), " sizes for ", x.rank(),
                           x.rank() == 1 ? " dimension" : " dimensions"));
    return false;
  }
  for (size_t d = 0; d < starts.size(); ++d) {
    if (sizes[d] == x.shape()[d]) {
      windows.emplace_back(Range{}, where);
    } else {
      windows.emplace_back(Window{starts[d], sizes[d]}, where);
    }
  }
  return true;
}

}  // namespace

Tensor DynamicSlice(const Tensor& x, const std::vector<Operand>& starts, const Shape& sizes, Where where) {
  std::vector<Index> windows;
  if (!MakeWindows("DynamicSlice", x, starts, sizes, where, windows)) return {};
  return PartOf(x, windows, where);
}

Tensor DynamicUpdateSlice(const Tensor& x, const Tensor& update, const std::vector<Operand>& starts,
                          Where where) {
  std::vector<Index> windows;
  if (!MakeWindows("DynamicUpdateSlice", x, starts, update.shape(), where, windows)) return {};
  return x.rank() == 0 ? update : Place(x, std::move(windows)).Set(update, where);
}

SortResult Sort(const Tensor& x, SortOptions options, Where where) {
  Call call("Sort", where, {x});
  if (!call.ok()) return {};
  if (!IsNumber(x.dtype())) return {call.Fail(NotNumbers(x.dtype())), {}};
  if (x.rank() == 0) return {call.Fail("takes elements of rank 1 or more; Reshape(x, {1}) first"), {}};
  const std::optional<int64_t> d = call.Dim(options.dim, x.rank());
  if (!d) return {};
  if (x.dim(*d) > std::numeric_limits<int32_t>::max()) {
    return {call.Fail("takes rows of fewer than 2^31 elements; positions are i32"), {}};
  }
  const bool is_last = *d == x.rank() - 1;
  Shape swapped(x.shape().size());
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<size_t>(*d)], swapped.back());
  const Tensor rows = is_last ? x : Transpose(x, swapped, where);
  auto op = call.b().builder().create<ir::SortOp>(
      call.loc(), call.type(x.dtype(), rows.shape()), call.type(I32, rows.shape()),
      mlir::Value::getFromOpaquePointer(rows.value()), options.descending);
  const Tensor values = call.Done(op.getValues()), positions = call.Done(op.getPositions());
  if (is_last) return {values, positions};
  return {Transpose(values, swapped, where), Transpose(positions, swapped, where)};
}

Tensor ArgSort(const Tensor& x, SortOptions options, Where where) {
  return Sort(x, options, where).positions;
}

Tensor SearchSorted(const Tensor& sorted, const Tensor& values, bool right, Where where) {
  CompositeCall call("SearchSorted", where, {sorted, values});
  if (!call.ok()) return {};
  if (sorted.rank() != 1 || sorted.dtype() != values.dtype() || !IsNumber(sorted.dtype())) {
    return call.Fail("takes sorted numbers of rank 1, and values of their type");
  }
  Shape spread = values.shape();
  spread.push_back(1);
  const Tensor each = Reshape(values, spread);
  const Tensor is_before =
      right ? Operand(sorted, where) <= Operand(each, where) : Operand(sorted, where) < Operand(each, where);
  return Sum(Cast(is_before, I32), {-1});
}

namespace {

Tensor CountBins(Call& call, const Tensor& x, const Tensor* weights, int64_t bins) {
  if (!call.ok()) return {};
  if (x.dtype() != I32 && x.dtype() != I64) return call.Fail("takes i32 or i64 numbers; Cast(x, I32) first");
  if (bins < 0) return call.Fail(absl::StrCat("has ", bins, " bins"));
  if (weights && (weights->shape() != x.shape() || !IsNumber(weights->dtype()))) {
    return call.Fail(absl::StrCat("takes weights that are numbers, of the shape of ", x.ToString()));
  }
  const DType dtype = weights ? weights->dtype() : I32;
  const Tensor zeros = call.Done(call.b().full({bins}, call.element(dtype), 0));
  const Tensor ones = weights ? *weights : call.Done(call.b().full(x.shape(), call.element(I32), 1));
  return ScatterAdd(zeros, x, ones, 0, call.where());
}

}  // namespace

Tensor BinCount(const Tensor& x, int64_t bins, Where where) {
  Call call("BinCount", where, {x});
  return CountBins(call, x, nullptr, bins);
}

Tensor BinCount(const Tensor& x, const Tensor& weights, int64_t bins, Where where) {
  Call call("BinCount", where, {x, weights});
  return CountBins(call, x, &weights, bins);
}

}  // namespace sinter
