// Reductions, running sums, and the largest elements.
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

void MeanPool(SweepCall& x) {
  const Tensor mask = ExpandDims(Cast(x["mask"], x["x"].dtype()), -1);
  x.Result("y", Sum(x["x"] * mask, {1}) / Sum(mask, {1}));
}

void PairwiseDistance(SweepCall& x) {
  const Tensor difference = ExpandDims(x["a"], 1) - ExpandDims(x["b"], 0);
  x.Result("y", Sum(Square(difference), {-1}));
}

void TopKOfRows(SweepCall& x) {
  const TopKResult top = TopK(x["x"], x.Integer("k"));
  x.Result("values", top.values);
  x.Result("positions", top.positions);
}

void MeanAndVariance(SweepCall& x) {
  x.Result("mean", Mean(x["x"], {-1}));
  x.Result("variance", Var(x["x"], {-1}));
}

const SweepForm kReductions[] = {
    {"sum_dims", [](SweepCall& x) { x.Result("y", Sum(x["x"], x.Integers("dims"))); }},
    {"max_dims", [](SweepCall& x) { x.Result("y", Max(x["x"], x.Integers("dims"))); }},
    {"sum_of_squares", [](SweepCall& x) { x.Result("y", Sum(Square(Wide(x["x"])))); }},
    {"mean_variance", MeanAndVariance},
    {"argmax_last", [](SweepCall& x) { x.Result("y", ArgMax(x["x"], -1)); }},
    {"argmax_middle", [](SweepCall& x) { x.Result("y", ArgMax(x["x"], 1)); }},
    {"cumsum_last", [](SweepCall& x) { x.Result("y", CumSum(x["x"], -1)); }},
    {"cumsum_first", [](SweepCall& x) { x.Result("y", CumSum(x["x"], 0)); }},
    {"mean_pool", MeanPool},
    {"pairwise_distance", PairwiseDistance},
    {"cosine_similarity", [](SweepCall& x) { x.Result("y", CosineSimilarity(x["a"], x["b"])); }},
    {"topk", TopKOfRows},
};

}  // namespace

std::span<const SweepForm> ReduceForms() { return kReductions; }

}  // namespace sinter::bench
