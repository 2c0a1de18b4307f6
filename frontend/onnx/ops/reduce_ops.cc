#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/frontend/ops/scatter.h"
#include "sinter/runtime/host/status.h"

// Reductions, running sums and places of extremes.
namespace sinter::onnx {
namespace {

using Reduction = Tensor (*)(const Tensor& x, const Shape& dims, ReduceOptions options);

Tensor SumOf(const Tensor& x, const Shape& dims, ReduceOptions options) { return Sum(x, dims, options); }
Tensor MeanOver(const Tensor& x, const Shape& dims, ReduceOptions options) {
  if (IsFloat(x.dtype())) return Mean(x, dims, options);
  int64_t count = 1;
  for (const int64_t dim : dims) count *= x.dim(dim);
  return Sum(x, dims, options) / (dims.empty() ? x.size() : count);
}
// For i1: whether all or any are true.
Tensor MaxOver(const Tensor& x, const Shape& dims, ReduceOptions options) {
  return x.dtype() == DType::kI1 ? Any(x, dims, options) : Max(x, dims, options);
}
Tensor MinOver(const Tensor& x, const Shape& dims, ReduceOptions options) {
  return x.dtype() == DType::kI1 ? All(x, dims, options) : Min(x, dims, options);
}
Tensor ProdOver(const Tensor& x, const Shape& dims, ReduceOptions options) { return Prod(x, dims, options); }
Tensor L1Over(const Tensor& x, const Shape& dims, ReduceOptions options) {
  return Sum(Abs(x), dims, options);
}
Tensor L2Over(const Tensor& x, const Shape& dims, ReduceOptions options) {
  return Sqrt(Sum(Square(x), dims, options));
}
Tensor SquaresOver(const Tensor& x, const Shape& dims, ReduceOptions options) {
  return Sum(Square(x), dims, options);
}
Tensor LogSumOver(const Tensor& x, const Shape& dims, ReduceOptions options) {
  return Log(Sum(x, dims, options));
}
Tensor LogSumExpOver(const Tensor& x, const Shape& dims, ReduceOptions options) {
  return LogSumExp(x, dims, options);
}

template <Reduction function>
absl::StatusOr<Values> Reduced(Node& node) {
  const Tensor x = node.In(0);
  SINTER_ASSIGN_OR_RETURN(const Shape axes, AxesOf(node, 1, x.rank()));
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) != 0) return Values(x);
  return Values(function(x, axes, {.keep_dims = node.Int("keepdims", 1) != 0}));
}

absl::StatusOr<Values> Extreme(Node& node, bool largest) {
  const Tensor x = node.In(0);
  const int64_t axis = node.Axis(node.Int("axis", 0), x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  const bool last = node.Int("select_last_index", 0) != 0;
  const Tensor from = last ? Reverse(x, {axis}) : x;
  Tensor place = largest ? ArgMax(from, axis, DType::kI64) : ArgMin(from, axis, DType::kI64);
  if (last) place = x.dim(axis) - 1 - place;
  return Values(node.Int("keepdims", 1) != 0 ? ExpandDims(place, axis) : place);
}
absl::StatusOr<Values> ArgMaxOf(Node& node) { return Extreme(node, true); }
absl::StatusOr<Values> ArgMinOf(Node& node) { return Extreme(node, false); }

absl::StatusOr<Values> CumSumOf(Node& node) {
  const Tensor x = node.In(0);
  SINTER_ASSIGN_OR_RETURN(const int64_t given, node.Int(1));
  const int64_t axis = node.Axis(given, x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  const Tensor sums = CumSum(x, axis, node.Int("reverse", 0) != 0);
  return Values(node.Int("exclusive", 0) != 0 ? sums - x : sums);
}

// Before version 10, k is an attribute.
absl::StatusOr<Values> TopKOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t axis = node.Axis(node.Int("axis", -1), x.rank());
  int64_t k = node.Int("k", 1);
  if (node.version() >= 10) {
    SINTER_ASSIGN_OR_RETURN(k, node.Int(1));
  }
  SINTER_RETURN_IF_ERROR(node.status());
  if (k < 0 || k > x.dim(axis)) return node.Bad(absl::StrCat("k is ", k, ", the axis has ", x.dim(axis)));
  const SortResult sorted = Sort(x, {.dim = axis, .descending = node.Int("largest", 1) != 0});
  return Values{SliceDim(sorted.values, axis, 0, k),
                Cast(SliceDim(sorted.positions, axis, 0, k), DType::kI64)};
}

constexpr OpRecord kReductions[] = {
    {"ArgMax", 1, ArgMaxOf},
    {"ArgMin", 1, ArgMinOf},
    {"CumSum", 11, CumSumOf},
    {"ReduceL1", 1, Reduced<L1Over>},
    {"ReduceL2", 1, Reduced<L2Over>},
    {"ReduceLogSum", 1, Reduced<LogSumOver>},
    {"ReduceLogSumExp", 1, Reduced<LogSumExpOver>},
    {"ReduceMax", 1, Reduced<MaxOver>},
    {"ReduceMean", 1, Reduced<MeanOver>},
    {"ReduceMin", 1, Reduced<MinOver>},
    {"ReduceProd", 1, Reduced<ProdOver>},
    {"ReduceSum", 1, Reduced<SumOf>},
    {"ReduceSumSquare", 1, Reduced<SquaresOver>},
    {"TopK", 1, TopKOf},
};

}  // namespace

std::span<const OpRecord> ReduceOps() { return kReductions; }

}  // namespace sinter::onnx
