// Lookups by indices, and sums at indices.
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

const SweepForm kLookups[] = {
    {"embedding", [](SweepCall& x) { x.Result("y", Gather(x["table"], x["ids"], 0)); }},
    {"gather_columns", [](SweepCall& x) { x.Result("y", Gather(x["x"], x["ids"], 1)); }},
    {"take_along", [](SweepCall& x) { x.Result("y", TakeAlong(x["x"], x["ids"], 1)); }},
    {"index_add", [](SweepCall& x) { x.Result("y", ScatterAdd(x["x"], x["ids"], x["updates"], 0)); }},
    {"one_hot_pick",
     [](SweepCall& x) {
       const Tensor one_hot = OneHot(x["labels"], x["x"].dim(-1), x["x"].dtype());
       x.Result("y", Sum(x["x"] * one_hot, {-1}));
     }},
};

}  // namespace

std::span<const SweepForm> IndexForms() { return kLookups; }

}  // namespace sinter::bench
