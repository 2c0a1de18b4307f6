#include "sinter/ir/cost/fold_ranks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sinter::cost {
namespace {

using Colours = std::vector<uint32_t>;

// The number of each key, in the order of the keys' first use.
template <typename Key>
class Numbers {
 public:
  uint32_t Of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  size_t size() const { return numbers_.size(); }

 private:
  std::map<Key, uint32_t> numbers_;
};

// A group as its members' colours, ascending.
Colours ColoursOf(const std::vector<uint32_t>& group, const Colours& colours) {
  Colours of_group;
  for (const uint32_t rank : group) of_group.push_back(colours[rank]);
  std::ranges::sort(of_group);
  return of_group;
}

// A number for the costs of a group's exchanges over a partition: equal groups have equal costs.
std::vector<uint32_t> CostsOfGroups(const Simulation& s, uint32_t partition) {
  using Costs = std::vector<std::tuple<double, double, uint32_t>>;
  Numbers<Costs> numbers;
  std::vector<uint32_t> of_groups;
  for (size_t g = 0; g < s.partitions[partition].groups.size(); ++g) {
    Costs costs;
    for (const SimulatedExchange& exchange : s.exchanges) {
      if (exchange.partition != partition || exchange.costs.size() == 1) continue;
      costs.emplace_back(exchange.costs[g].latency, exchange.costs[g].transfer, exchange.costs[g].port);
    }
    of_groups.push_back(numbers.Of(costs));
  }
  return of_groups;
}

// Splits the colours until the members of each colour have groups of the same colours.
Colours Refine(const Simulation& s) {
  const size_t ranks = s.program_of_rank.size();
  std::vector<std::vector<uint32_t>> costs;
  for (uint32_t p = 0; p < s.partitions.size(); ++p) costs.push_back(CostsOfGroups(s, p));
  Numbers<std::pair<uint32_t, double>> programs;
  Colours colours;
  for (size_t r = 0; r < ranks; ++r) {
    colours.push_back(programs.Of({s.program_of_rank[r], s.slowdown.empty() ? 1 : s.slowdown[r]}));
  }
  for (size_t known = programs.size();;) {
    std::vector<std::vector<uint32_t>> keys(ranks);
    for (size_t r = 0; r < ranks; ++r) keys[r] = {colours[r]};
    for (size_t p = 0; p < s.partitions.size(); ++p) {
      const Partition& partition = s.partitions[p];
      Numbers<std::pair<uint32_t, Colours>> groups;
      std::vector<uint32_t> number_of(partition.groups.size());
      for (size_t g = 0; g < partition.groups.size(); ++g) {
        number_of[g] = groups.Of({costs[p][g], ColoursOf(partition.groups[g], colours)});
      }
      for (size_t r = 0; r < ranks; ++r) {
        const uint32_t group = partition.group_of[r];
        keys[r].push_back(group == kNone ? kNone : number_of[group]);
      }
    }
    Numbers<std::vector<uint32_t>> next;
    for (size_t r = 0; r < ranks; ++r) colours[r] = next.Of(keys[r]);
    if (next.size() == known) return colours;
    known = next.size();
  }
}

}  // namespace

FoldedRanks FoldRanks(const Simulation& s) {
  const Colours colours = Refine(s);
  FoldedRanks folded;
  Simulation& run = folded.simulation;
  run.programs = s.programs;
  run.exchanges = s.exchanges;
  run.beside_exchange = s.beside_exchange;
  for (uint32_t r = 0; r < colours.size(); ++r) {
    if (colours[r] < folded.first.size()) {
      ++folded.count[colours[r]];
      continue;
    }
    // Colours are numbered in the order of their first ranks.
    folded.first.push_back(r);
    folded.count.push_back(1);
    run.program_of_rank.push_back(s.program_of_rank[r]);
    if (!s.slowdown.empty()) run.slowdown.push_back(s.slowdown[r]);
  }
  for (uint32_t p = 0; p < s.partitions.size(); ++p) {
    const Partition& partition = s.partitions[p];
    std::map<Colours, uint32_t> known;
    std::vector<std::vector<uint32_t>> groups;
    std::vector<uint32_t> from;  // The group of `s` that each group stands for.
    for (const uint32_t first : folded.first) {
      const uint32_t g = partition.group_of[first];
      if (g == kNone) continue;
      Colours members = ColoursOf(partition.groups[g], colours);
      members.erase(std::ranges::unique(members).begin(), members.end());
      if (!known.try_emplace(members, static_cast<uint32_t>(groups.size())).second) continue;
      groups.push_back(std::move(members));
      from.push_back(g);
    }
    for (SimulatedExchange& exchange : run.exchanges) {
      if (exchange.partition != p || exchange.costs.size() == 1) continue;
      std::vector<ExchangeCost> costs;
      for (const uint32_t g : from) costs.push_back(exchange.costs[g]);
      exchange.costs = std::move(costs);
    }
    run.partitions.push_back(Partition::Of(static_cast<uint32_t>(folded.first.size()), std::move(groups)));
  }
  return folded;
}

}  // namespace sinter::cost
