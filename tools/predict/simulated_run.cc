#include "sinter/tools/predict/simulated_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tools/plan_text.h"
#include "sinter/tools/trace_events.h"

namespace sinter::tools {
namespace {

using Json = nlohmann::ordered_json;

absl::Status SlowDown(const std::string& text, cost::Simulation& simulation) {
  const size_t equals = text.find('=');
  uint32_t rank = 0;
  double factor = 0;
  if (equals == std::string::npos || !absl::SimpleAtoi(text.substr(0, equals), &rank) ||
      !absl::SimpleAtod(text.substr(equals + 1), &factor) || !(factor > 0 && factor <= 1e6)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--straggler ", text, ": expected rank=factor, such as 17=1.2, with a factor above 0"));
  }
  if (rank >= simulation.slowdown.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--straggler ", text, ": the ranks are 0 to ", simulation.slowdown.size() - 1));
  }
  simulation.slowdown[rank] *= factor;
  return absl::OkStatus();
}

struct Exposed {
  double least = 0, mean = 0, most = 0;
};

Exposed ExposedOf(const cost::SimulationResult& result) {
  Exposed exposed = {result.ranks.front().exposed, 0, 0};
  double ranks = 0;
  for (const cost::RankResult& rank : result.ranks) {
    exposed.least = std::min(exposed.least, rank.exposed);
    exposed.most = std::max(exposed.most, rank.exposed);
    exposed.mean += rank.exposed * rank.ranks;
    ranks += rank.ranks;
  }
  exposed.mean /= ranks;
  return exposed;
}

const cost::RankResult& SlowestOf(const cost::SimulationResult& result) {
  return *std::ranges::max_element(result.ranks, {}, &cost::RankResult::computing);
}

}  // namespace

absl::StatusOr<SimulatedRun> SimulateRun(const Plan& plan, const cost::DeviceCosts& costs,
                                         const SimulateOptions& options) {
  SimulatedRun run;
  run.plan = std::string(plan.name());
  run.costs = costs.table().device;
  SINTER_ASSIGN_OR_RETURN(run.made, PlanSimulation::Of(plan, costs, options.plan));
  SINTER_ASSIGN_OR_RETURN(const cost::SimulationResult even, cost::Simulate(run.made.simulation()));
  run.even_seconds = even.seconds;
  for (const std::string& text : options.stragglers) {
    SINTER_RETURN_IF_ERROR(SlowDown(text, run.made.simulation()));
  }
  SINTER_ASSIGN_OR_RETURN(run.result, cost::Simulate(run.made.simulation(), options.simulation));
  return run;
}

std::string SimulatedRunText(const SimulatedRun& run) {
  const cost::SimulationResult& result = run.result;
  const Exposed exposed = ExposedOf(result);
  const cost::RankResult& slowest = SlowestOf(result);
  std::string out = absl::StrFormat("function %s of plan %s, simulated with the costs of %s\n",
                                    run.made.function(), run.plan, run.costs);
  absl::StrAppendFormat(&out, "  ranks      %u, %u a node; %u of them simulated, %u events\n",
                        run.made.ranks(), run.made.ranks_per_node(), result.ranks.size(), result.events);
  absl::StrAppendFormat(&out, "  step       %.4f ms", result.seconds * 1e3);
  if (result.seconds != run.even_seconds) {
    absl::StrAppendFormat(&out, ", %.1f %% more than the %.4f ms of even ranks",
                          100 * (result.seconds / run.even_seconds - 1), run.even_seconds * 1e3);
  }
  absl::StrAppendFormat(&out, "\n  exchanges  exposed for %.4f ms on average, %.4f to %.4f\n",
                        exposed.mean * 1e3, exposed.least * 1e3, exposed.most * 1e3);
  absl::StrAppendFormat(&out, "  computes   longest on %s, %.4f ms\n", run.made.RankName(slowest.rank),
                        slowest.computing * 1e3);
  for (const std::string& note : run.made.notes()) absl::StrAppend(&out, "note: ", note, "\n");
  return out;
}

std::string SimulatedRunJson(const SimulatedRun& run) {
  const Exposed exposed = ExposedOf(run.result);
  Json ranks = Json::array();
  for (const cost::RankResult& rank : run.result.ranks) {
    ranks.push_back({{"first", rank.rank},
                     {"ranks", rank.ranks},
                     {"end_seconds", rank.end},
                     {"computing_seconds", rank.computing},
                     {"exchanging_seconds", rank.exchanging},
                     {"exposed_seconds", rank.exposed}});
  }
  const Json json = {{"plan", run.plan},
                     {"function", run.made.function()},
                     {"costs", run.costs},
                     {"ranks", run.made.ranks()},
                     {"ranks_per_node", run.made.ranks_per_node()},
                     {"events", run.result.events},
                     {"seconds", run.result.seconds},
                     {"even_seconds", run.even_seconds},
                     {"exposed_seconds", exposed.mean},
                     {"simulated", std::move(ranks)},
                     {"notes", run.made.notes()}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string SimulatedRunTrace(const SimulatedRun& run, int most_ranks) {
  TraceEvents trace;
  const size_t count = std::min(run.result.ranks.size(), static_cast<size_t>(most_ranks));
  for (size_t r = 0; r < count; ++r) {
    const cost::RankResult& rank = run.result.ranks[r];
    const auto process = static_cast<int>(rank.rank);
    const uint32_t index = run.made.simulation().program_of_rank[rank.rank];
    const DeviceProgram& program = run.made.programs()[index];
    const cost::RankProgram& simulated = run.made.simulation().programs[index];
    trace.NameProcess(process, rank.ranks == 1 ? run.made.RankName(rank.rank)
                                               : absl::StrCat(run.made.RankName(rank.rank), " and ",
                                                              rank.ranks - 1, " like it"));
    trace.NameThread(process, 0, "exchanges");
    std::vector<double> ends;  // Ends of the steps in each row below.
    for (size_t i = 0; i < program.steps.size(); ++i) {
      const fb::Step& step = *program.function->steps()->Get(program.steps[i]);
      const cost::StepTimes& times = rank.steps[i];
      int thread = 0;
      if (simulated.steps[i].exchange == cost::kNone) {
        const auto row = std::ranges::find_if(ends, [&](double end) { return end <= times.begin; });
        thread = static_cast<int>(row - ends.begin()) + 1;
        if (row != ends.end()) {
          *row = times.end;
        } else {
          ends.push_back(times.end);
          trace.NameThread(process, thread, "computes");
        }
      }
      trace.Add({.name = simulated.steps[i].name,
                 .category = std::string(NameOf(program.prices[i].work)),
                 .process = process,
                 .thread = thread,
                 .begin_seconds = times.begin,
                 .seconds = times.end - times.begin},
                {{"step", program.steps[i]}, {"lines", LocationsText(run.made.table(), step, 3)}});
    }
  }
  return trace.Text();
}

}  // namespace sinter::tools
