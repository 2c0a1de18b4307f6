#include "sinter/tools/predict/plan_simulation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/execute/step_order.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/memory_effects.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tools/plan_text.h"
#include "sinter/tools/predict/mesh_sizes.h"

namespace sinter::tools {

using cost::ExchangeCost;
using cost::Partition;
using cost::RankProgram;
using cost::SimulatedStep;

namespace {

// Returns what a step touches on one device.
MemoryEffects EffectsOn(const fb::Function& function, const fb::Step& step, uint32_t device) {
  MemoryEffects effects;
  const auto add = [&](const flatbuffers::Vector<uint32_t>* buffers, std::vector<BufferRange>& ranges) {
    for (const uint32_t buffer : OrEmpty(buffers)) {
      const fb::Buffer& b = *function.buffers()->Get(buffer);
      if (b.device() == device) ranges.push_back(RangeOf(b));
    }
  };
  add(step.inputs(), effects.reads);
  add(step.outputs(), effects.writes);
  if (step.device() == device && step.workspace_bytes() > 0) {
    const uint64_t begin = step.workspace_offset();
    effects.writes.push_back({fb::Space::Arena, 0, begin, begin + step.workspace_bytes()});
  }
  return effects;
}

}  // namespace

absl::StatusOr<std::string> ChooseFunction(const Plan& plan, const std::string& wanted) {
  std::vector<std::string> names;
  for (const FunctionInfo& function : plan.Functions()) names.push_back(function.name);
  if (wanted.empty() && names.size() == 1) return names[0];
  if (wanted.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has the functions ", absl::StrJoin(names, ", "),
                                                   ": choose one with --function"));
  }
  SINTER_ASSIGN_OR_RETURN(const FunctionInfo function, plan.Function(wanted));
  return function.name;
}

class PlanSimulationBuilder {
 public:
  PlanSimulationBuilder(const fb::Plan& plan, const cost::DeviceCosts& costs, const MeasuredSteps* measured,
                        PlanSimulation& made)
      : plan_(plan), costs_(costs), measured_(measured), mesh_(plan), cell_(NumDevices(plan)), made_(made) {}

  absl::Status Build(const std::string& function, uint32_t ranks_per_node) {
    for (const std::vector<const fb::Function*>& variants : FunctionVariants(plan_)) {
      if (variants.front()->name()->str() == function) variants_ = variants;
    }
    ChooseNodes(ranks_per_node);
    PlaceRanks();
    for (uint32_t v = 0; v < variants_.size(); ++v) {
      for (uint32_t d = 0; d < cell_; ++d) SINTER_RETURN_IF_ERROR(AddProgram(*variants_[v], d));
    }
    made_.simulation_.beside_exchange = costs_.launch().beside_exchange;
    if (measured_ != nullptr) {
      made_.notes_.push_back(absl::StrCat("the times of steps are medians of ", measured_->repeat,
                                          " runs of one rank on ", measured_->device,
                                          " without exchanges; those of exchanges are the table's"));
    }
    if (as_products_ > 0) {
      made_.notes_.push_back(absl::StrCat(as_products_,
                                          " steps have the price of a product of their sizes: the "
                                          "table has no sample of their kind in their type"));
    }
    return absl::OkStatus();
  }

 private:
  // Identifies an exchange of the program on all of its ranks.
  struct ExchangeKey {
    const fb::Function* function;  // Null for exchanges over axes, which functions of one name share.
    uint64_t number;
    uint32_t device;
    auto operator<=>(const ExchangeKey&) const = default;
  };

  uint32_t ranks() const { return mesh_.num_ranks() * cell_; }
  bool HasGpus() const {
    for (uint32_t d = 0; d < cell_; ++d) {
      if (!DeviceOf(plan_, d).is_host()) return true;
    }
    return false;
  }

  void ChooseNodes(uint32_t wanted) {
    uint32_t of_link = ranks();
    for (const cost::LinkCosts& link : costs_.table().links) {
      if (link.ranks > 0) of_link = link.ranks;
    }
    made_.ranks_per_node_ = wanted > 0 ? wanted : HasGpus() ? of_link : ranks();
    made_.ranks_per_node_ = std::min(made_.ranks_per_node_, ranks());
  }

  void PlaceRanks() {
    std::vector<uint32_t>& programs = made_.simulation_.program_of_rank;
    for (uint32_t r = 0; r < mesh_.num_ranks(); ++r) {
      const auto variant = std::ranges::find(variants_, VariantOf(mesh_, variants_, r)) - variants_.begin();
      for (uint32_t d = 0; d < cell_; ++d) programs.push_back(static_cast<uint32_t>(variant) * cell_ + d);
    }
    // CPUs of a node take turns on its cores.
    std::vector<uint32_t> hosts(ranks() / made_.ranks_per_node_ + 1);
    for (uint32_t r = 0; r < ranks(); ++r) hosts[r / made_.ranks_per_node_] += IsHost(r);
    for (uint32_t r = 0; r < ranks(); ++r) {
      made_.simulation_.slowdown.push_back(IsHost(r) ? hosts[r / made_.ranks_per_node_] : 1);
    }
  }

  bool IsHost(uint32_t rank) const { return DeviceOf(plan_, rank % cell_).is_host(); }

  absl::Status AddProgram(const fb::Function& function, uint32_t device) {
    DeviceProgram& made = made_.programs_.emplace_back();
    RankProgram& program = made_.simulation_.programs.emplace_back();
    const bool is_host = DeviceOf(plan_, device).is_host();
    made.function = &function;
    made.device = device;
    made.gap = is_host || measured_ != nullptr ? 0 : costs_.launch().gap;
    const uint32_t number = PositionOf(function);
    std::vector<StepOrder::Step> touched;
    for (uint32_t i = 0; i < OrEmpty(function.steps()).size(); ++i) {
      const fb::Step& step = *function.steps()->Get(i);
      const bool is_member = StepKindOf(step).is_exchange && step.device() == device;
      const bool is_end =
          IsBetweenDevices(function, step) && (step.device() == device || SourceOf(function, step) == device);
      if (step.device() != device && !is_end) continue;
      SimulatedStep simulated = {.name = StepText(plan_, step)};
      PricedStep price = {.work = WorkClass::kExchanges};
      if (is_member || is_end) {
        SINTER_ASSIGN_OR_RETURN(simulated.exchange, FindExchange(function, i));
      } else {
        SINTER_ASSIGN_OR_RETURN(price, PriceOf(step, number, i));
        simulated.seconds = price.seconds + made.gap;
        as_products_ += price.is_as_product;
      }
      simulated.share = price.share;
      if (!is_host) touched.push_back({EffectsOn(function, step, device), is_member});
      program.steps.push_back(std::move(simulated));
      made.steps.push_back(i);
      made.prices.push_back(price);
    }
    if (!is_host) OrderSteps(std::move(touched), program);
    return absl::OkStatus();
  }

  // As a GPU runs the program: exchanges beside the other steps, and these in as many lanes as can be.
  static void OrderSteps(std::vector<StepOrder::Step> touched, RankProgram& program) {
    const bool has_exchanges = std::ranges::any_of(touched, &StepOrder::Step::is_exchange);
    const bool in_order = !RunSideBySide(touched.size(), has_exchanges);
    StepOrder order(std::move(touched));
    if (in_order) ++program.lanes;
    for (size_t i = 0; i < program.steps.size(); ++i) {
      order.Add();
      SimulatedStep& step = program.steps[i];
      step.after = order.before().back();
      if (step.exchange != cost::kNone) continue;
      step.lane = in_order ? program.lanes - 1 : program.lanes++;
    }
  }

  // The position in the plan's list. A copy with other sizes of axes has the functions of the plan in its
  // order.
  uint32_t PositionOf(const fb::Function& function) const {
    uint32_t position = 0;
    while (plan_.functions()->Get(position) != &function) ++position;
    return position;
  }

  absl::StatusOr<PricedStep> PriceOf(const fb::Step& step, uint32_t function, uint32_t index) const {
    const std::optional<double> measured =
        measured_ == nullptr ? std::nullopt : measured_->Of(function, index);
    absl::StatusOr<PricedStep> price = PriceStep(plan_, step, costs_);
    if (!measured.has_value()) return price;
    // The table still says how much of the device the step keeps busy.
    PricedStep made = {.work = WorkClassOf(step)};
    if (price.ok()) made.share = price->share;
    made.seconds = *measured;
    return made;
  }

  static uint32_t SourceOf(const fb::Function& function, const fb::Step& step) {
    return function.buffers()->Get(step.inputs()->Get(0))->device();
  }

  // The index of the step's exchange in the simulation.
  absl::StatusOr<uint32_t> FindExchange(const fb::Function& function, uint32_t index) {
    const fb::Step& step = *function.steps()->Get(index);
    const fb::CollectiveStep* const body = step.body_as_CollectiveStep();
    const bool is_over_axes = body != nullptr && OrEmpty(body->axes()).size() > 0;
    ExchangeKey key = {&function, index, 0};
    if (is_over_axes) key = {nullptr, body->epoch(), step.device()};
    if (body != nullptr && !is_over_axes) key = {&function, uint64_t{1} << 32 | body->channel(), 0};
    if (const auto known = exchanges_.find(key); known != exchanges_.end()) return known->second;
    const std::vector<std::vector<uint32_t>> groups =
        is_over_axes ? GroupsOver(MaskOf(body->axes()), step.device()) : GroupsOfCell(function, step, body);
    cost::SimulatedExchange exchange = {PartitionOf(groups), {}};
    cost::ExchangeWork work = {cost::ExchangeKind::kSendRecv, step.bytes() / 2};
    if (body != nullptr) work = ExchangeOf(*body, static_cast<uint32_t>(groups.front().size()));
    std::set<std::pair<double, double>> different;
    for (const std::vector<uint32_t>& group : groups) {
      const cost::GroupPlace place = PlaceOf(group);
      const absl::StatusOr<cost::ExchangePrice> price = costs_.Price(work, place);
      if (!price.ok()) {
        return absl::Status(price.status().code(),
                            absl::StrCat("cannot price ", StepText(plan_, step), " of ",
                                         LocationsText(plan_, step, 1), ": ", price.status().message()));
      }
      exchange.costs.push_back({price->latency, price->transfer, place.nodes > 1 ? 1u : 0u});
      different.insert({price->latency, price->transfer});
    }
    if (different.size() == 1) exchange.costs.resize(1);
    const auto number = static_cast<uint32_t>(made_.simulation_.exchanges.size());
    made_.simulation_.exchanges.push_back(std::move(exchange));
    exchanges_[key] = number;
    return number;
  }

  std::vector<std::vector<uint32_t>> GroupsOver(AxisMask axes, uint32_t device) const {
    std::vector<std::vector<uint32_t>> groups;
    for (uint32_t r = 0; r < mesh_.num_ranks(); ++r) {
      if (mesh_.FirstOf(r, axes) != r) continue;
      std::vector<uint32_t>& group = groups.emplace_back();
      for (const uint32_t member : mesh_.GroupOf(r, axes)) group.push_back(member * cell_ + device);
    }
    return groups;
  }

  // The members within each rank that runs the function.
  std::vector<std::vector<uint32_t>> GroupsOfCell(const fb::Function& function, const fb::Step& step,
                                                  const fb::CollectiveStep* body) const {
    std::vector<uint32_t> devices = {step.device()};
    if (body == nullptr) {
      devices.push_back(SourceOf(function, step));
    } else {
      devices.assign(body->group()->begin(), body->group()->end());
    }
    std::ranges::sort(devices);
    std::vector<std::vector<uint32_t>> groups;
    for (uint32_t r = 0; r < mesh_.num_ranks(); ++r) {
      if (VariantOf(mesh_, variants_, r) != &function) continue;
      std::vector<uint32_t>& group = groups.emplace_back();
      for (const uint32_t device : devices) group.push_back(r * cell_ + device);
    }
    return groups;
  }

  uint32_t PartitionOf(const std::vector<std::vector<uint32_t>>& groups) {
    const auto [known, is_new] =
        partitions_.try_emplace(groups, static_cast<uint32_t>(made_.simulation_.partitions.size()));
    if (is_new) made_.simulation_.partitions.push_back(Partition::Of(ranks(), groups));
    return known->second;
  }

  cost::GroupPlace PlaceOf(const std::vector<uint32_t>& group) const {
    std::map<uint32_t, uint32_t> members;  // By node.
    for (const uint32_t rank : group) ++members[rank / made_.ranks_per_node_];
    cost::GroupPlace place = {static_cast<uint32_t>(group.size()), static_cast<uint32_t>(members.size()),
                              static_cast<uint32_t>(group.size())};
    for (const auto& [node, count] : members)
      place.fewest_on_a_node = std::min(place.fewest_on_a_node, count);
    return place;
  }

  const fb::Plan& plan_;
  const cost::DeviceCosts& costs_;
  const MeasuredSteps* const measured_;  // Null: all times are the table's.
  const RankMesh mesh_;
  const uint32_t cell_;  // Devices of a rank.
  PlanSimulation& made_;
  std::vector<const fb::Function*> variants_;
  std::map<ExchangeKey, uint32_t> exchanges_;
  std::map<std::vector<std::vector<uint32_t>>, uint32_t> partitions_;
  int as_products_ = 0;
};

absl::StatusOr<PlanSimulation> PlanSimulation::Of(const Plan& plan, const cost::DeviceCosts& costs,
                                                  const PlanSimulationOptions& options) {
  PlanSimulation made;
  SINTER_ASSIGN_OR_RETURN(made.function_, ChooseFunction(plan, options.function));
  made.table_ = &plan.table();
  if (!options.axes.empty()) {
    SINTER_ASSIGN_OR_RETURN(std::string bytes, WithAxisSizes(plan, options.axes, made.function_));
    made.bytes_ = std::make_shared<const std::string>(std::move(bytes));
    made.table_ = fb::GetPlan(made.bytes_->data());
  }
  PlanSimulationBuilder builder(*made.table_, costs, options.measured, made);
  SINTER_RETURN_IF_ERROR(builder.Build(made.function_, options.ranks_per_node));
  return made;
}

std::string PlanSimulation::RankName(uint32_t rank) const {
  const uint32_t cell = NumDevices(*table_);
  const Device device = DeviceOfRank(*table_, rank / cell, rank % cell);
  return table_->mesh() == nullptr ? device.ToString()
                                   : absl::StrCat("rank ", rank / cell, " (", device.ToString(), ")");
}

}  // namespace sinter::tools
