#include "sinter/tools/explain/explanation.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/ir/cost/simulation.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tools/plan_text.h"
#include "sinter/tools/predict/plan_simulation.h"

namespace sinter::tools {
namespace {

bool IsOverAxes(const fb::CollectiveStep& s) { return OrEmpty(s.axes()).size() > 0; }

// Identifies an exchange in all functions of one name.
using ExchangeId = std::pair<uint64_t, uint32_t>;
ExchangeId IdOf(const fb::Step& step) {
  const fb::CollectiveStep& s = *step.body_as_CollectiveStep();
  if (IsOverAxes(s)) return {s.epoch(), step.device()};
  return {uint64_t{1} << 63 | s.channel(), s.group()->Get(0)};
}

std::vector<std::string> LinesOf(const fb::Plan& plan, const flatbuffers::Vector<uint32_t>* locations) {
  std::vector<std::string> lines;
  for (const uint32_t location : OrEmpty(locations)) {
    std::string line = LocationText(plan, location);
    if (line != "-" && std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  }
  return lines;
}

void AddMembers(const fb::Plan& plan, const fb::CollectiveStep& s, ExplainedExchange& made) {
  for (const uint32_t axis : OrEmpty(s.axes())) {
    const fb::MeshAxis& named = *plan.mesh()->axes()->Get(axis);
    made.axes.emplace_back(named.name()->str(), named.size());
  }
  for (const uint32_t device : OrEmpty(s.group())) {
    made.devices.push_back(DeviceOf(plan, device).ToString());
  }
  made.ranks = IsOverAxes(s) ? RankMesh(plan).GroupSize(MaskOf(s.axes())) : s.group()->size();
}

void AddReason(const fb::Plan& plan, const fb::CollectiveStep& s, ExplainedExchange& made) {
  if (s.reason() == 0) return;
  const fb::ExchangeReason& reason = *plan.exchange_reasons()->Get(s.reason() - 1);
  made.because = reason.text()->str();
  made.by_way_of = LinesOf(plan, reason.locations());
  if (made.by_way_of.empty()) return;
  made.because_line = made.by_way_of.front();
  made.by_way_of.erase(made.by_way_of.begin());
}

ExplainedExchange Describe(const fb::Plan& plan, const fb::Function& function, const fb::Step& step) {
  const fb::CollectiveStep& s = *step.body_as_CollectiveStep();
  ExplainedExchange made;
  made.function = function.name()->str();
  made.kind = std::string(CollectiveName(s.kind()));
  AddMembers(plan, s, made);
  for (const uint32_t buffer : OrEmpty(OrEmpty(step.inputs()).size() > 0 ? step.inputs() : step.outputs())) {
    const fb::Buffer& given = *function.buffers()->Get(buffer);
    made.tensors.push_back(TypeText(*given.type()));
    made.bytes += given.bytes();
  }
  made.lines = LinesOf(plan, step.locations());
  AddReason(plan, s, made);
  return made;
}

auto KeyOf(const ExplainedExchange& e) {
  return std::tie(e.kind, e.axes, e.devices, e.tensors, e.bytes, e.lines, e.because, e.by_way_of);
}

// Seconds of [begin, end) in which none of the other steps runs; these are sorted by their begin.
double ExposedIn(double begin, double end, const std::vector<cost::StepTimes>& others) {
  double exposed = 0, at = begin;
  for (const cost::StepTimes& other : others) {
    if (other.end <= at || other.begin >= end) continue;
    exposed += std::max(0.0, other.begin - at);
    at = std::max(at, other.end);
    if (at >= end) break;
  }
  return exposed + std::max(0.0, end - at);
}

using TimesById = std::map<ExchangeId, ExchangeTimes>;

// Adds the times of the exchanges of one simulated rank that have none yet.
void AddTimes(const PlanSimulation& made, const cost::RankResult& rank, TimesById& times) {
  const DeviceProgram& program = made.programs()[made.simulation().program_of_rank[rank.rank]];
  std::vector<cost::StepTimes> others;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (program.prices[i].work != WorkClass::kExchanges) others.push_back(rank.steps[i]);
  }
  std::ranges::sort(others, {}, &cost::StepTimes::begin);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const fb::Step& step = *program.function->steps()->Get(program.steps[i]);
    if (step.body_as_CollectiveStep() == nullptr) continue;
    const auto [begin, end] = rank.steps[i];
    times.try_emplace(IdOf(step), ExchangeTimes{end - begin, ExposedIn(begin, end, others)});
  }
}

// The times of the rank that ends last; of exchanges that it has no part in, those of another rank.
absl::StatusOr<TimesById> PredictTimes(const Plan& plan, const std::string& function,
                                       const cost::DeviceCosts& costs) {
  SINTER_ASSIGN_OR_RETURN(const PlanSimulation made, PlanSimulation::Of(plan, costs, {.function = function}));
  SINTER_ASSIGN_OR_RETURN(const cost::SimulationResult result, cost::Simulate(made.simulation()));
  TimesById times;
  AddTimes(made, *std::ranges::max_element(result.ranks, {}, &cost::RankResult::end), times);
  for (const cost::RankResult& rank : result.ranks) AddTimes(made, rank, times);
  return times;
}

// Appends the exchanges of the function, which are those of all functions of its name.
void AddExchanges(const fb::Plan& plan, const fb::Function& function, const TimesById* times,
                  std::vector<ExplainedExchange>& all) {
  std::map<decltype(KeyOf(all[0])), size_t> known;
  std::vector<ExplainedExchange> made;
  made.reserve(OrEmpty(function.steps()).size());  // `known` refers to the elements.
  for (uint32_t i = 0; i < OrEmpty(function.steps()).size(); ++i) {
    const fb::Step& step = *function.steps()->Get(i);
    const fb::CollectiveStep* const s = step.body_as_CollectiveStep();
    if (s == nullptr || (!IsOverAxes(*s) && s->rank() != 0)) continue;
    made.push_back(Describe(plan, function, step));
    const auto [found, is_new] = known.try_emplace(KeyOf(made.back()), made.size() - 1);
    if (!is_new) made.pop_back();
    ExplainedExchange& exchange = made[found->second];
    exchange.steps.push_back(i);
    if (times == nullptr || !times->contains(IdOf(step))) continue;
    const ExchangeTimes& more = times->at(IdOf(step));
    if (!exchange.times.has_value()) exchange.times.emplace();
    exchange.times->seconds += more.seconds, exchange.times->exposed += more.exposed;
  }
  for (ExplainedExchange& exchange : made) {
    exchange.number = static_cast<int>(all.size()) + 1;
    all.push_back(std::move(exchange));
  }
}

void AddVariables(const fb::Plan& plan, Explanation& made) {
  for (const fb::Variable* variable : OrEmpty(plan.variables())) {
    if (variable->replica_of() != 0) continue;
    const VariableInfo info = DescribeVariable(plan, *variable);
    if (!info.is_cut) {
      ++made.whole_variables;
      made.whole_bytes += static_cast<uint64_t>(info.bytes);
      continue;
    }
    ExplainedVariable& cut = made.cut_variables.emplace_back();
    cut.name = info.name, cut.type = info.TypeString();
    cut.line = LocationText(plan, variable->location());
    cut.bytes = static_cast<uint64_t>(info.bytes), cut.part_bytes = static_cast<uint64_t>(info.part_bytes);
    for (uint32_t axis = 0; axis < plan.mesh()->axes()->size(); ++axis) {
      const bool cuts = std::ranges::any_of(*variable->box()->extents(), [&](const fb::BoxExtent* extent) {
        return OrEmpty(extent->rank_strides()).size() > axis && extent->rank_strides()->Get(axis) != 0;
      });
      if (cuts) cut.axes.push_back(plan.mesh()->axes()->Get(axis)->name()->str());
    }
  }
}

bool HasExchanges(const fb::Function& function) {
  return std::ranges::any_of(OrEmpty(function.steps()),
                             [](const fb::Step* step) { return step->body_as_CollectiveStep() != nullptr; });
}

absl::Status ChooseExchange(const ExplainOptions& options, std::vector<ExplainedExchange>& exchanges) {
  const size_t count = exchanges.size();
  std::erase_if(exchanges, [&](const ExplainedExchange& e) {
    return (options.exchange != 0 && e.number != options.exchange) ||
           (!options.function.empty() && e.function != options.function);
  });
  if (options.exchange == 0 || !exchanges.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--exchange ", options.exchange, ": ",
      count == 0 ? "the plan has no exchanges"
                 : absl::StrCat("the exchanges of the plan have the numbers 1 to ", count,
                                options.function.empty() ? "" : ", and function \"", options.function,
                                options.function.empty() ? "" : "\" has not this one")));
}

}  // namespace

absl::StatusOr<Explanation> Explain(const Plan& plan, const ExplainOptions& options) {
  if (!options.function.empty()) SINTER_RETURN_IF_ERROR(plan.Function(options.function).status());
  const fb::Plan& table = plan.table();
  Explanation made;
  made.plan = std::string(plan.name());
  const RankMesh mesh(table);
  made.ranks = mesh.num_ranks();
  if (table.mesh() != nullptr) made.mesh = mesh.ToString(table);
  if (options.costs != nullptr) made.costs = options.costs->table().device;
  for (const std::vector<const fb::Function*>& variants : FunctionVariants(table)) {
    const fb::Function& function = *variants.front();
    const std::string name = function.name()->str();
    if (!HasExchanges(function)) continue;
    const bool is_wanted = options.function.empty() || options.function == name;
    absl::StatusOr<TimesById> times = TimesById();
    if (options.costs != nullptr && is_wanted) times = PredictTimes(plan, name, *options.costs);
    if (!times.ok()) {
      made.notes.push_back(
          absl::StrCat("function ", name, " has no times: ", std::string(times.status().message())));
    }
    AddExchanges(table, function, times.ok() ? &*times : nullptr, made.exchanges);
  }
  SINTER_RETURN_IF_ERROR(ChooseExchange(options, made.exchanges));
  AddVariables(table, made);
  for (const flatbuffers::String* note : OrEmpty(table.whole_notes())) {
    made.stayed_whole.push_back(note->str());
  }
  return made;
}

}  // namespace sinter::tools
