#include "sinter/tools/predict/prediction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {
namespace {

using Key = std::pair<std::string, std::string>;

std::vector<PredictedStep> Dearest(const std::map<Key, PredictedStep>& sums, int top) {
  std::vector<PredictedStep> steps;
  for (const auto& [key, step] : sums) steps.push_back(step);
  std::ranges::stable_sort(steps, std::greater<>(), &PredictedStep::seconds);
  if (steps.size() > static_cast<size_t>(top)) steps.resize(static_cast<size_t>(top));
  return steps;
}

}  // namespace

absl::StatusOr<Prediction> Predict(const Plan& plan, const cost::DeviceCosts& costs,
                                   const PredictOptions& options) {
  SINTER_ASSIGN_OR_RETURN(const PlanSimulation made, PlanSimulation::Of(plan, costs, options.plan));
  SINTER_ASSIGN_OR_RETURN(const cost::SimulationResult result, cost::Simulate(made.simulation()));
  Prediction p;
  p.plan = std::string(plan.name());
  p.function = made.function();
  p.costs = costs.table().device;
  p.ranks = made.ranks();
  p.ranks_per_node = made.ranks_per_node();
  p.seconds = result.seconds;
  p.notes = made.notes();
  p.memory = PredictMemory(made.table(), costs.table().library_bytes, options.plan.measured);
  const cost::RankResult& last = *std::ranges::max_element(result.ranks, {}, &cost::RankResult::end);
  p.rank = made.RankName(last.rank);
  const DeviceProgram& program = made.programs()[made.simulation().program_of_rank[last.rank]];
  const double slowdown = made.simulation().slowdown[last.rank];
  std::array<PredictedPart, kWorkClasses> classes;
  std::map<Key, PredictedStep> sums;
  double gaps = 0, priced = 0;
  int steps = 0;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const fb::Step& step = *program.function->steps()->Get(program.steps[i]);
    const PricedStep& price = program.prices[i];
    const bool is_exchange = price.work == WorkClass::kExchanges;
    // An exchange takes what its rank waits for, too.
    const double seconds = is_exchange ? last.steps[i].end - last.steps[i].begin : price.seconds * slowdown;
    PredictedPart& part = classes[static_cast<size_t>(price.work)];
    part.seconds += seconds;
    ++part.steps;
    if (!is_exchange) gaps += program.gap * slowdown, priced += seconds, ++steps;
    PredictedStep& sum = sums[{StepText(made.table(), step), LocationsText(made.table(), step, 3)}];
    if (sum.steps++ == 0)
      sum.what = StepText(made.table(), step), sum.lines = LocationsText(made.table(), step, 3);
    sum.seconds += seconds;
  }
  for (int i = 0; i < kWorkClasses; ++i) {
    const auto work = static_cast<WorkClass>(i);
    if (work == WorkClass::kExchanges || classes[i].steps == 0) continue;
    classes[i].name = std::string(NameOf(work));
    p.parts.push_back(classes[i]);
  }
  const auto add = [&p](const char* name, double seconds, int count) {
    if (std::abs(seconds) > 1e-12) p.parts.push_back({name, seconds, count});
  };
  p.exchanges = classes[static_cast<size_t>(WorkClass::kExchanges)].steps;
  p.exposed_exchange = last.exposed;
  p.hidden_exchange = last.exchanging - last.exposed;
  add("gaps between steps", gaps, steps);
  // Below 0 if steps run side by side, above 0 if exchanges make them slower.
  add("side by side", last.computing - priced - gaps, 0);
  add("exposed exchanges", p.exposed_exchange, p.exchanges);
  add("waiting", p.seconds - last.computing - last.exposed, 0);
  p.dearest = Dearest(sums, options.top);
  return p;
}

}  // namespace sinter::tools
