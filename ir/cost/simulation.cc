#include "sinter/ir/cost/simulation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/ir/cost/event_loop.h"
#include "sinter/ir/cost/fold_ranks.h"

namespace sinter::cost {
namespace {

absl::Status CheckStep(const Simulation& s, const RankProgram& program, size_t index) {
  const SimulatedStep& step = program.steps[index];
  const auto refuse = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("step ", index, " (", step.name, ") ", what));
  };
  if (step.lane >= program.lanes)
    return refuse(absl::StrCat("is on lane ", step.lane, " of ", program.lanes));
  if (!(step.seconds >= 0)) return refuse("takes less than no time");
  if (!(step.share > 0 && step.share <= 1))
    return refuse("keeps busy no part of its device above 0 and at most 1");
  for (const uint32_t before : step.after) {
    if (before >= index) return refuse(absl::StrCat("follows step ", before, ", which is no earlier one"));
  }
  if (step.exchange != kNone && step.exchange >= s.exchanges.size()) return refuse("is of no exchange");
  return absl::OkStatus();
}

absl::Status CheckExchange(const Simulation& s, const SimulatedExchange& exchange) {
  if (exchange.partition >= s.partitions.size()) {
    return absl::InvalidArgumentError("an exchange is over no partition");
  }
  const size_t groups = s.partitions[exchange.partition].groups.size();
  if (exchange.costs.size() != 1 && exchange.costs.size() != groups) {
    return absl::InvalidArgumentError(
        absl::StrCat("an exchange of ", groups, " groups has ", exchange.costs.size(), " costs"));
  }
  for (const ExchangeCost& cost : exchange.costs) {
    if (!(cost.latency >= 0) || !(cost.transfer >= 0) || cost.port >= kPorts) {
      return absl::InvalidArgumentError(
          "an exchange takes less than no time, or uses a port that no rank has");
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const Simulation& s) {
  for (const RankProgram& program : s.programs) {
    for (size_t i = 0; i < program.steps.size(); ++i) {
      if (absl::Status status = CheckStep(s, program, i); !status.ok()) return status;
    }
  }
  for (const SimulatedExchange& exchange : s.exchanges) {
    if (absl::Status status = CheckExchange(s, exchange); !status.ok()) return status;
  }
  const size_t ranks = s.program_of_rank.size();
  for (const uint32_t program : s.program_of_rank) {
    if (program >= s.programs.size()) return absl::InvalidArgumentError("a rank has no program");
  }
  for (const Partition& partition : s.partitions) {
    if (partition.group_of.size() != ranks) {
      return absl::InvalidArgumentError("a partition is of another number of ranks");
    }
  }
  if (!s.slowdown.empty() && s.slowdown.size() != ranks) {
    return absl::InvalidArgumentError("there are slowdowns of another number of ranks");
  }
  for (const double slowdown : s.slowdown) {
    if (!(slowdown > 0)) return absl::InvalidArgumentError("a rank's slowdown is not above 0");
  }
  if (!(s.beside_exchange > 0 && s.beside_exchange <= 1)) {
    return absl::InvalidArgumentError("steps beside an exchange have no speed above 0 and at most 1");
  }
  return absl::OkStatus();
}

using Span = std::pair<double, double>;

// The union of the spans, in order.
std::vector<Span> Joined(std::vector<Span> spans) {
  std::ranges::sort(spans);
  std::vector<Span> joined;
  for (const Span& span : spans) {
    if (span.second <= span.first) continue;
    if (!joined.empty() && span.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, span.second);
    } else {
      joined.push_back(span);
    }
  }
  return joined;
}

double Length(const std::vector<Span>& spans) {
  double length = 0;
  for (const Span& span : spans) length += span.second - span.first;
  return length;
}

// Both must be joined.
double LengthOfBoth(const std::vector<Span>& a, const std::vector<Span>& b) {
  double length = 0;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    length += std::max(0.0, std::min(a[i].second, b[k].second) - std::max(a[i].first, b[k].first));
    a[i].second < b[k].second ? ++i : ++k;
  }
  return length;
}

void AddUp(const RankProgram& program, RankResult& rank) {
  std::vector<Span> computing, exchanging;
  for (size_t i = 0; i < rank.steps.size(); ++i) {
    const StepTimes& times = rank.steps[i];
    rank.end = std::max(rank.end, times.end);
    (program.steps[i].exchange == kNone ? computing : exchanging).emplace_back(times.begin, times.end);
  }
  computing = Joined(std::move(computing));
  exchanging = Joined(std::move(exchanging));
  rank.computing = Length(computing);
  rank.exchanging = Length(exchanging);
  rank.exposed = rank.exchanging - LengthOfBoth(computing, exchanging);
}

}  // namespace

Partition Partition::Of(uint32_t ranks, std::vector<std::vector<uint32_t>> groups) {
  Partition partition = {std::move(groups), std::vector<uint32_t>(ranks, kNone)};
  for (uint32_t g = 0; g < partition.groups.size(); ++g) {
    for (const uint32_t rank : partition.groups[g]) partition.group_of[rank] = g;
  }
  return partition;
}

absl::StatusOr<SimulationResult> Simulate(const Simulation& simulation, const SimulationOptions& options) {
  if (absl::Status status = Check(simulation); !status.ok()) return status;
  if (!(options.jitter >= 0)) return absl::InvalidArgumentError("the jitter is below 0");
  FoldedRanks folded;
  const bool folds = options.fold && options.jitter == 0;
  if (folds) folded = FoldRanks(simulation);
  const Simulation& run = folds ? folded.simulation : simulation;
  EventLoop loop(run, options.jitter, options.seed);
  if (absl::Status status = loop.Run(); !status.ok()) return status;
  SimulationResult result;
  result.events = loop.events();
  for (uint32_t i = 0; i < run.program_of_rank.size(); ++i) {
    RankResult rank;
    rank.rank = folds ? folded.first[i] : i;
    rank.ranks = folds ? folded.count[i] : 1;
    rank.steps = loop.TakeTimes(i);
    AddUp(run.programs[run.program_of_rank[i]], rank);
    result.seconds = std::max(result.seconds, rank.end);
    result.ranks.push_back(std::move(rank));
  }
  std::ranges::sort(result.ranks, {}, &RankResult::rank);
  return result;
}

}  // namespace sinter::cost
