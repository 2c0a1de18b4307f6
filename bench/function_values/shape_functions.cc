// Functions of shapes and indices, scatters, reductions and sorts.
#include <cmath>

#include "sinter/bench/function_values/cases.h"

namespace sinter::bench {

namespace {

const FunctionCase kShapes[] = {
    {"Reshape", {Floats({4, 6})}, [](const Call& x) { return Reshape(x[0], {3, -1, 2}); }},
    {"Flatten", {Floats({2, 3, 4})}, [](const Call& x) { return Flatten(x[0], 1); }},
    {"ExpandDims", {Floats({2, 3})}, [](const Call& x) { return ExpandDims(x[0], 1); }},
    {"Squeeze", {Floats({2, 1, 3})}, [](const Call& x) { return Squeeze(x[0], 1); }},
    {"Transpose", {Floats({2, 3, 4})}, [](const Call& x) { return Transpose(x[0], {2, 0, 1}); }},
    {"BroadcastTo", {Floats({3, 1})}, [](const Call& x) { return BroadcastTo(x[0], {2, 3, 4}); }},
    {"Slice",
     {Floats({8, 9, 3})},
     [](const Call& x) { return Slice(x[0], {1, 0, 0}, {8, -2, 3}, {3, 2, 1}); }},
    {"SliceDim", {Floats({4, 9})}, [](const Call& x) { return SliceDim(x[0], -1, 2, 7); }},
    {"Concat",
     {Floats({2, 3}), Floats({2, 1}), Floats({2, 4})},
     [](const Call& x) { return Concat(x.inputs, 1); }},
    {"Stack", {Floats({2, 3}), Floats({2, 3})}, [](const Call& x) { return Stack(x.inputs, -1); }},
    {"Split", {Floats({2, 7})}, [](const Call& x) { return Results(Split(x[0], {1, 4, 2}, 1)); }},
    {"Unbind", {Floats({2, 3, 2})}, [](const Call& x) { return Results(Unbind(x[0], 1)); }},
    {"Pad", {Floats({3, 4})}, [](const Call& x) { return Pad(x[0], {1, 0}, {2, 3}, 1.5); }},
    {"Pad.reflect",
     {Floats({2, 3, 5, 6})},
     [](const Call& x) { return Pad(x[0], {0, 0, 4, 1}, {0, 0, 2, 3}, PadMode::kReflect); }},
    {"Pad.replicate",
     {Floats({2, 3, 5, 6})},
     [](const Call& x) { return Pad(x[0], {0, 0, 4, 1}, {0, 0, 2, 7}, PadMode::kReplicate); }},
    {"Pad.circular",
     {Floats({2, 3, 5, 6})},
     [](const Call& x) { return Pad(x[0], {0, 0, 4, 1}, {0, 0, 2, 3}, PadMode::kCircular); }},
    {"Reverse", {Floats({3, 4, 2})}, [](const Call& x) { return Reverse(x[0], {0, 2}); }},
    {"Roll", {Floats({3, 7})}, [](const Call& x) { return Roll(x[0], -3, 1); }},
    {"Tile", {Floats({3, 2})}, [](const Call& x) { return Tile(x[0], {2, 1, 3}); }},
    {"Repeat", {Floats({3, 2})}, [](const Call& x) { return Repeat(x[0], 3, 1); }},
    {"Tril", {Floats({2, 4, 5})}, [](const Call& x) { return Tril(x[0], -1); }},
    {"Triu", {Floats({2, 4, 5})}, [](const Call& x) { return Triu(x[0], 1); }},
    {"Diagonal", {Floats({2, 4, 5})}, [](const Call& x) { return Diagonal(x[0], 1); }},
    {"DiagEmbed", {Floats({2, 4})}, [](const Call& x) { return DiagEmbed(x[0], -1); }},
    {"Meshgrid", {Floats({3}), Floats({4})}, [](const Call& x) { return Results(Meshgrid(x.inputs)); }},
    {"Iota", {Floats({3, 4})}, [](const Call& x) { return x[0] * Cast(x.b.Iota(I32, {3, 4}, 1), F32); }},
    {"Clone", {Floats({3, 4})}, [](const Call& x) { return Clone(x[0]); }},
};

const FunctionCase kIndices[] = {
    {"Subscripts",
     {Floats({5, 6, 7})},
     [](const Call& x) {
       return Results{x[0][1], x[0][{Range{1, 3}, Ellipsis, NewAxis}], x[0][{Ellipsis, Range{.step = -2}}],
                      x[0][{Range{-3, {}}, 2, Range{6, 1, -2}}]};
     }},
    {"Subscripts.tensors",
     {Floats({5, 6, 3}), Integers({4}, 0, 5), Integers({2, 1}, 0, 6)},
     [](const Call& x) { return Results{x[0][x[1]], x[0][{x[1], x[2]}], x[0][{Range{}, x[2]}]}; }},
    {"Subscripts.window",
     {Floats({8, 3}), Integers({}, 0, 6)},
     [](const Call& x) { return Results{x[0][Window{x[1], 3}], DynamicSlice(x[0], {x[1], 1}, {3, 2})}; }},
    {"Gather",
     {Floats({4, 5, 3}), Integers({2, 6}, 0, 5)},
     [](const Call& x) { return Gather(x[0], x[1], 1); }},
    {"TakeAlong",
     {Floats({4, 5}), Integers({4, 7}, 0, 5)},
     [](const Call& x) { return TakeAlong(x[0], x[1], 1); }},
    {"OneHot", {Integers({4, 3}, 0, 5)}, [](const Call& x) { return OneHot(x[0], 5); }},
    {"ScatterAdd",
     {Floats({4, 5}), Integers({8}, 0, 4), Floats({8, 5})},
     [](const Call& x) { return ScatterAdd(x[0], x[1], x[2], 0); }},
    {"Scatter.set",
     {Floats({3, 9}), Distinct({5}, 9), Floats({3, 5})},
     [](const Call& x) { return Scatter(x[0], x[1], x[2], 1, ScatterKind::kSet); }},
    {"Scatter.add",
     {Floats({3, 4}), Integers({9}, 0, 4), Floats({3, 9})},
     [](const Call& x) { return Scatter(x[0], x[1], x[2], 1, ScatterKind::kAdd); }},
    {"Scatter.max",
     {Floats({4, 3}), Integers({9}, 0, 4), Floats({9, 3})},
     [](const Call& x) { return Scatter(x[0], x[1], x[2], 0, ScatterKind::kMax); }},
    {"Scatter.min",
     {Floats({4, 3}), Integers({9}, 0, 4), Floats({9, 3})},
     [](const Call& x) { return Scatter(x[0], x[1], x[2], 0, ScatterKind::kMin); }},
    {"Scatter.mul",
     {Floats({4, 3}), Integers({9}, 0, 4), Floats({9, 3}, 0.5, 2)},
     [](const Call& x) { return Scatter(x[0], x[1], x[2], 0, ScatterKind::kMul); }},
    {"At.Set",
     {Floats({5, 6}), Floats({2, 3})},
     [](const Call& x) { return x[0].At({Range{1, 4, 2}, Range{0, 3}}).Set(x[1]); }},
    {"At.Add",
     {Floats({5, 6}), Integers({4}, 0, 5), Integers({4}, 0, 6), Floats({4})},
     [](const Call& x) { return x[0].At({x[1], x[2]}).Add(x[3]); }},
    {"At.Max", {Floats({5, 6}), Floats({6})}, [](const Call& x) { return x[0].At({Range{0, 3}}).Max(x[1]); }},
    {"At.Min",
     {Floats({5, 6}), Floats({5, 1})},
     [](const Call& x) { return x[0].At({Ellipsis, Range{2, 5}}).Min(x[1]); }},
    {"At.Mul", {Floats({5, 6})}, [](const Call& x) { return x[0].At({Ellipsis, 2}).Mul(0.5); }},
    {"DynamicUpdateSlice",
     {Floats({7, 5}), Floats({2, 3}), Integers({}, 0, 6)},
     [](const Call& x) { return DynamicUpdateSlice(x[0], x[1], {x[2], 1}); }},
};

const FunctionCase kReductions[] = {
    {"Sum", {Floats({3, 4, 5})}, [](const Call& x) { return Sum(x[0], {0, 2}); }},
    {"Sum.all", {Floats({3, 4, 5})}, [](const Call& x) { return Sum(x[0]); }},
    {"Sum.integers", {Integers({3, 9}, -50, 50)}, [](const Call& x) { return Sum(x[0], {1}); }},
    {"Mean", {Floats({3, 4, 5})}, [](const Call& x) { return Mean(x[0], {1}, {.keep_dims = true}); }},
    {"Prod", {Floats({3, 6})}, [](const Call& x) { return Prod(x[0], {1}); }},
    {"Max", {Floats({3, 4, 5})}, [](const Call& x) { return Max(x[0], {1, 2}); }},
    {"Min", {Floats({3, 4, 5})}, [](const Call& x) { return Min(x[0], {0}); }},
    {"Max.ties",
     {Floats({3, 4}), Floats({3, 4}, 3, 4)},
     [](const Call& x) { return Max(Concat({x[0], x[1], x[1]}, 1), {1}); }},
    {"Any", {Truths({3, 4})}, [](const Call& x) { return Any(x[0], {1}); }},
    {"All", {Truths({3, 2})}, [](const Call& x) { return All(x[0], {1}); }},
    {"LogSumExp", {Floats({3, 4, 5}, -9, 9)}, [](const Call& x) { return LogSumExp(x[0], {0, 1}); }},
    {"Norm", {Floats({3, 4, 5})}, [](const Call& x) { return Norm(x[0], {2}); }},
    {"Norm.1", {Floats({3, 4, 5})}, [](const Call& x) { return Norm(x[0], {0, 2}, {.p = 1}); }},
    {"Norm.3", {Floats({3, 4, 5})}, [](const Call& x) { return Norm(x[0], {1}, {.p = 3}); }},
    {"Norm.largest", {Floats({3, 4, 5})}, [](const Call& x) { return Norm(x[0], {2}, {.p = INFINITY}); }},
    {"Norm.smallest", {Floats({3, 4, 5})}, [](const Call& x) { return Norm(x[0], {2}, {.p = -INFINITY}); }},
    {"Quantile", {Floats({3, 4, 5})}, [](const Call& x) { return Quantile(x[0], 0.3, {1}); }},
    {"Quantile.midpoint",
     {Floats({3, 4, 5})},
     [](const Call& x) { return Quantile(x[0], 0.3, {2}, {.rule = QuantileRule::kMidpoint}); }},
    {"Median.lower",
     {Floats({3, 6})},
     [](const Call& x) { return Median(x[0], {1}, {.rule = QuantileRule::kLower}); }},
    {"LogCumSumExp", {Floats({3, 9}, -9, 9)}, [](const Call& x) { return LogCumSumExp(x[0], 1); }},
    {"NanSum", {Floats({3, 4})}, [](const Call& x) { return NanSum(Sqrt(x[0]), {1}); }},
    {"Var", {Floats({3, 4, 5})}, [](const Call& x) { return Var(x[0], {0, 2}); }},
    {"Var.unbiased",
     {Floats({3, 9})},
     [](const Call& x) { return Var(x[0], {1}, {.correction = 1, .keep_dims = true}); }},
    {"Std", {Floats({3, 4, 5})}, [](const Call& x) { return Std(x[0], {0, 2}); }},
    {"Std.unbiased", {Floats({3, 9})}, [](const Call& x) { return Std(x[0], {1}, {.correction = 1}); }},
    {"ArgMax", {Floats({3, 7})}, [](const Call& x) { return ArgMax(x[0], 1); }},
    {"ArgMin", {Floats({3, 7})}, [](const Call& x) { return ArgMin(x[0], 0); }},
    {"ArgMax.ties", {Integers({8, 9}, 0, 3)}, [](const Call& x) { return ArgMax(x[0], 1); }},
    {"TopK",
     {Floats({4, 9})},
     [](const Call& x) {
       const TopKResult top = TopK(x[0], 3);
       return Results{top.values, top.positions};
     }},
    {"Sort",
     {Floats({4, 9})},
     [](const Call& x) {
       const SortResult sorted = Sort(x[0]);
       return Results{sorted.values, sorted.positions};
     }},
    {"Sort.descending",
     {Floats({9, 3})},
     [](const Call& x) {
       const SortResult sorted = Sort(x[0], {.dim = 0, .descending = true});
       return Results{sorted.values, sorted.positions};
     }},
    {"Sort.ties",
     {Integers({5, 40}, 0, 6)},
     [](const Call& x) {
       return Results{Sort(x[0]).values, ArgSort(x[0]), ArgSort(x[0], {.descending = true})};
     }},
    {"ArgSort", {Floats({4, 9})}, [](const Call& x) { return ArgSort(x[0], {.dim = 0}); }},
    {"SearchSorted",
     {Integers({12}, 0, 9), Integers({4, 5}, -1, 11)},
     [](const Call& x) {
       const Tensor sorted = Sort(x[0]).values;
       return Results{SearchSorted(sorted, x[1]), SearchSorted(sorted, x[1], true)};
     }},
    {"BinCount",
     {Integers({30}, 0, 7), Floats({30})},
     [](const Call& x) { return Results{BinCount(x[0], 9), BinCount(x[0], x[1], 9)}; }},
    {"CumSum", {Floats({4, 9})}, [](const Call& x) { return CumSum(x[0], 1); }},
    {"CumSum.reverse", {Floats({4, 9})}, [](const Call& x) { return CumSum(x[0], 0, true); }},
    {"CumProd", {Floats({4, 7})}, [](const Call& x) { return CumProd(x[0], 1); }},
    {"CumProd.reverse", {Floats({4, 7})}, [](const Call& x) { return CumProd(x[0], 1, true); }},
    {"CumMax", {Floats({4, 9})}, [](const Call& x) { return CumMax(x[0], 1); }},
    {"CumMin", {Floats({4, 9})}, [](const Call& x) { return CumMin(x[0], 0, true); }},
};

std::vector<FunctionCase> AllShapes() {
  std::vector<FunctionCase> all(std::begin(kShapes), std::end(kShapes));
  all.insert(all.end(), std::begin(kIndices), std::end(kIndices));
  all.insert(all.end(), std::begin(kReductions), std::end(kReductions));
  return all;
}

}  // namespace

std::span<const FunctionCase> ShapeFunctions() {
  static const std::vector<FunctionCase> all = AllShapes();
  return all;
}

}  // namespace sinter::bench
