// Updates of a list of parameters p0, p1, ... with the gradients g0, g1, ...
#include "absl/strings/str_cat.h"
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

template <typename Rule>
void Update(SweepCall& x, const Rule& rule, const std::vector<optim::Hook>& hooks = {}) {
  std::vector<Variable> parameters;
  Tensor loss;
  for (int i = 0; x.Has(absl::StrCat("p", i)); ++i) {
    parameters.push_back(x.VariableOf(absl::StrCat("p", i)));
    // The gradient of sum(p * g) with respect to p is g, so it needs no computation.
    const Tensor term = Sum(x[absl::StrCat("p", i)] * x[absl::StrCat("g", i)]);
    loss = i == 0 ? term : loss + term;
  }
  rule.Minimize(loss, {.parameters = parameters, .hooks = hooks});
}

const SweepForm kUpdates[] = {
    {"momentum", [](SweepCall& x) { Update(x, optim::Momentum{.learning_rate = 0.01}); }},
    {"adamw", [](SweepCall& x) { Update(x, optim::AdamW{.learning_rate = 0.001}); }},
    {"clipped_sgd", [](SweepCall& x) { Update(x, optim::Sgd{.learning_rate = 0.01}, {optim::ClipNorm(1)}); }},
};

}  // namespace

std::span<const SweepForm> UpdateForms() { return kUpdates; }

}  // namespace sinter::bench
