#include <optional>
#include <set>
#include <vector>

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/ErrorHandling.h"
#include "sinter/ir/program/collective.h"
#include "sinter/passes/op_prices.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/exchange_order.h"
#include "sinter/passes/plan/live_bytes.h"
#include "sinter/passes/plan/plan_steps.h"
#include "sinter/passes/plan/step_graph.h"
#include "sinter/passes/topological_list.h"

namespace sinter {

#define GEN_PASS_DEF_ORDERCALLS
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Takes the steps in sequence: of the ready steps, the one with the lowest score(step, added, kept). Scores
// must be comparable and distinct.
template <typename Score>
llvm::SmallVector<Operation*> TakeByScore(llvm::ArrayRef<Operation*> steps, const StepGraph& graph,
                                          const ArenaUses& arena, Score score) {
  LiveBytes live(steps, arena);
  using Key = decltype(score(0u, int64_t{0}, int64_t{0}));
  std::vector<std::optional<Key>> keys(steps.size());  // Keys of the ready steps.
  std::set<std::pair<Key, unsigned>> ready;
  auto forget = [&](unsigned s) {
    if (keys[s]) ready.erase({*keys[s], s});
    keys[s].reset();
  };
  auto rate = [&](unsigned s) {
    forget(s);
    auto [added, kept] = live.cost(steps[s]);
    keys[s] = score(s, added, kept);
    ready.insert({*keys[s], s});
  };
  llvm::DenseMap<Value, llvm::SmallVector<unsigned>> users;
  llvm::SmallVector<unsigned> waiting;
  for (unsigned s = 0; s < steps.size(); ++s) {
    for (const Held& held : arena.of(steps[s])) users[held.root].push_back(s);
    waiting.push_back(graph.before(s).size());
    if (waiting[s] == 0) rate(s);
  }
  llvm::SmallVector<Operation*> order;
  while (!ready.empty()) {
    const unsigned step = ready.begin()->second;
    forget(step);
    for (Value root : live.take(steps[step])) {
      for (unsigned user : users[root]) {
        if (keys[user]) rate(user);
      }
    }
    order.push_back(steps[step]);
    for (unsigned next : graph.after(step)) {
      if (--waiting[next] == 0) rate(next);
    }
  }
  if (order.size() < steps.size()) llvm::report_fatal_error("order-calls: steps wait for each other");
  return order;
}

// Takes the step that leaves the fewest bytes alive.
llvm::SmallVector<Operation*> OrderGreedily(llvm::ArrayRef<Operation*> steps, const StepGraph& graph,
                                            const ArenaUses& arena) {
  return TakeByScore(steps, graph, arena,
                     [](unsigned s, int64_t added, int64_t kept) { return std::make_tuple(kept, added, s); });
}

// The given order, but steps that reduce the live bytes come as early as possible: sums of gradients, and
// updates of variables, which are the last users of a gradient.
llvm::SmallVector<Operation*> OrderFreeingEarly(llvm::ArrayRef<Operation*> steps, const StepGraph& graph,
                                                const ArenaUses& arena) {
  return TakeByScore(steps, graph, arena, [](unsigned s, int64_t, int64_t kept) {
    return std::make_tuple(std::min<int64_t>(kept, 0), s);
  });
}

// The given order, changed only as the preferences require.
llvm::SmallVector<Operation*> OrderAsGiven(llvm::ArrayRef<Operation*> steps, const StepGraph& graph) {
  llvm::SmallVector<Operation*> order;
  llvm::SmallVector<bool> done(steps.size(), false);
  auto visit = [&](auto& self, unsigned step) -> void {
    if (done[step]) return;
    done[step] = true;
    llvm::SmallVector<unsigned> before(graph.before(step));
    llvm::sort(before);
    for (unsigned earlier : before) self(self, earlier);
    order.push_back(steps[step]);
  };
  for (unsigned s = 0; s < steps.size(); ++s) visit(visit, s);
  return order;
}

// The rank of a collective's member in its group, from its call's device.
int64_t RankOf(Operation* member) {
  ir::Collective collective = *CollectiveOf(member);
  return llvm::find(collective.group, ir::DeviceOf(member)) - collective.group.begin();
}

// Moves steps later, towards their first dependent step, as long as their results take more memory than their
// operands: the operands live longer if the step passes their last other reader, and the results start to
// live later.
class LateStarts {
 public:
  LateStarts(llvm::ArrayRef<Operation*> steps, const StepGraph& graph, const ArenaUses& arena)
      : steps_(steps), graph_(graph), arena_(arena) {}

  llvm::SmallVector<Operation*> reorder(llvm::ArrayRef<Operation*> order) {
    llvm::DenseMap<Operation*, unsigned> number;
    for (auto [s, step] : llvm::enumerate(steps_)) number[step] = s;
    for (Operation* step : llvm::reverse(order)) place(number[step]);
    llvm::SmallVector<Operation*> late;
    for (unsigned s : late_.items()) late.push_back(steps_[s]);
    return late;
  }

 private:
  // Inserts a step that preceded all steps placed so far.
  void place(unsigned step) {
    std::optional<unsigned> need = first(graph_.after(step));
    std::optional<unsigned> before = need;  // Without a dependent step it stays.
    if (need) {
      std::optional<unsigned> reader = worthPassing(step);
      if (reader && late_.isBefore(*reader, *need)) before = reader;
    }
    if (before) {
      late_.moveBefore(*before, step);
    } else {
      late_.pushFront(step);
    }
    for (const Held& held : arena_.of(steps_[step])) {
      auto [last, is_new] = last_user_.try_emplace(held.root, step);
      if (!is_new && late_.isBefore(last->second, step)) last->second = step;
    }
  }

  std::optional<unsigned> first(llvm::ArrayRef<unsigned> steps) const {
    auto earlier = [&](unsigned a, unsigned b) { return late_.isBefore(a, b); };
    const unsigned* found = std::min_element(steps.begin(), steps.end(), earlier);
    return found == steps.end() ? std::nullopt : std::optional(*found);
  }

  // Returns the step that is not worth passing: after it, at least as many bytes of operands live longer as
  // bytes of results live shorter. nullopt if passing all steps is worthwhile.
  std::optional<unsigned> worthPassing(unsigned step) const {
    llvm::DenseSet<Value> written;
    for (Value out : WritesOf(steps_[step])) written.insert(Resolve(out).root);
    int64_t gain = 0, kept = 0;
    llvm::SmallVector<std::pair<unsigned, int64_t>> last_users;
    for (const Held& held : arena_.of(steps_[step])) {
      if (written.contains(held.root)) {
        if (arena_.writers(held.root) == 1) gain += held.bytes;
        continue;
      }
      if (held.handed_out) continue;
      auto last = last_user_.find(held.root);
      if (last == last_user_.end()) {
        kept += held.bytes;
      } else {
        last_users.push_back({last->second, held.bytes});
      }
    }
    if (kept >= gain) return late_.front();
    llvm::stable_sort(last_users,
                      [&](const auto& a, const auto& b) { return late_.isBefore(a.first, b.first); });
    for (auto [user, bytes] : last_users) {
      kept += bytes;
      if (kept >= gain) return user;
    }
    return std::nullopt;
  }

  llvm::ArrayRef<Operation*> steps_;
  const StepGraph& graph_;
  const ArenaUses& arena_;
  TopologicalList late_;
  llvm::DenseMap<Value, unsigned> last_user_;  // Among the placed steps, for each memory.
};

// The same order, but members of a collective become adjacent, in the order of their group, at the position
// of the last of them. Predecessors of one member come before all members.
llvm::SmallVector<Operation*> JoinCollectives(llvm::ArrayRef<Operation*> order,
                                              llvm::ArrayRef<Operation*> steps, const StepGraph& graph) {
  llvm::DenseMap<Operation*, unsigned> number;
  for (auto [s, step] : llvm::enumerate(steps)) number[step] = s;
  llvm::DenseMap<int64_t, llvm::SmallVector<Operation*>> members;
  for (Operation* step : steps) {
    if (auto collective = CollectiveOf(step)) members[collective->channel].push_back(step);
  }
  if (members.empty()) return llvm::to_vector(order);
  llvm::DenseMap<int64_t, size_t> seen;
  llvm::DenseSet<Operation*> done;
  llvm::SmallVector<Operation*> joined;
  auto visit = [&](auto& self, Operation* step) -> void {
    if (!done.insert(step).second) return;
    llvm::SmallVector<Operation*> unit = {step};
    if (auto collective = CollectiveOf(step)) {
      unit = members[collective->channel];
      llvm::sort(unit, [&](Operation* a, Operation* b) { return RankOf(a) < RankOf(b); });
      done.insert(unit.begin(), unit.end());
    }
    for (Operation* member : unit) {
      for (unsigned before : graph.before(number[member])) {
        if (!llvm::is_contained(unit, steps[before])) self(self, steps[before]);
      }
    }
    llvm::append_range(joined, unit);
  };
  for (Operation* step : order) {
    auto collective = CollectiveOf(step);
    bool is_last = !collective || ++seen[collective->channel] == members[collective->channel].size();
    if (is_last) visit(visit, step);
  }
  return joined;
}

// Orders to choose from. The first of the best is taken, so the given order is kept if no other is better.
class Orders {
 public:
  explicit Orders(const ArenaUses& arena) : arena_(arena) {}

  void add(llvm::ArrayRef<Operation*> order, double seconds) {
    orders_.push_back({llvm::to_vector(order), seconds, BytesAlive(order, arena_)});
  }

  // An order that takes a tenth more memory must be faster by a fortieth.
  llvm::SmallVector<Operation*> best() const {
    constexpr double kWorthOfMemory = 0.25;
    auto peak = [](const Order& order) { return static_cast<double>(order.bytes.first); };
    double least = peak(orders_.front());
    for (const Order& order : orders_) least = std::min(least, peak(order));
    auto score = [&](const Order& order) {
      const double more = least == 0 ? 0 : peak(order) / least - 1;
      return std::make_pair(order.seconds * (1 + kWorthOfMemory * more), order.bytes);
    };
    return std::min_element(orders_.begin(), orders_.end(),
                            [&](const Order& a, const Order& b) { return score(a) < score(b); })
        ->steps;
  }

 private:
  struct Order {
    llvm::SmallVector<Operation*> steps;
    double seconds;
    std::pair<int64_t, int64_t> bytes;
  };
  const ArenaUses& arena_;
  std::vector<Order> orders_;
};

// Exchanges count this times their predicted time. Prices of kernels are high: they count operands as read
// whole. So of orders that would just hide the exchanges, that with time to spare is the fastest.
constexpr double kLongerExchange = 1.3;

class OrderCallsPass : public impl::OrderCallsBase<OrderCallsPass> {
 public:
  using OrderCallsBase::OrderCallsBase;
  void runOnOperation() override {
    if (getOperation().isLaidOutFragment()) return;
    llvm::SmallVector<Operation*> steps = StepsOf(getOperation());
    StepGraph graph(steps, /*exchanges_in_order=*/getOperation().getRanks().has_value());
    ArenaUses arena(steps);
    const bool exchanges = ExchangesOnGpus(steps);
    auto before = [&](unsigned step) { return graph.before(step); };
    auto after = [&](unsigned step) { return graph.after(step); };
    const StepDependences dependences = {steps, before, after};
    llvm::DenseMap<Operation*, unsigned> number;
    for (auto [s, step] : llvm::enumerate(steps)) number[step] = s;
    auto numbersOf = [&](llvm::ArrayRef<Operation*> order) {
      return llvm::map_to_vector(order, [&](Operation* step) { return number.lookup(step); });
    };
    OpPrices prices;
    llvm::SmallVector<double> seconds;
    for (Operation* step : steps) {
      seconds.push_back(exchanges ? prices.seconds(step) * (CollectiveOf(step) ? kLongerExchange : 1) : 0);
    }
    auto secondsOf = [&](unsigned s) { return seconds[s]; };
    const StepCosts costs = {secondsOf};
    const bool has_gathers = HasGathers(steps);
    Orders orders(arena);
    for (const auto& order : {OrderAsGiven(steps, graph), OrderFreeingEarly(steps, graph, arena),
                              OrderGreedily(steps, graph, arena)}) {
      for (bool late : {false, true}) {
        llvm::SmallVector<Operation*> moved = late ? LateStarts(steps, graph, arena).reorder(order) : order;
        if (!exchanges) {
          orders.add(JoinCollectives(moved, steps, graph), 0);
          continue;
        }
        auto add = [&](unsigned gathers_ahead, const StepCosts& known) {
          const auto early = OrderForExchanges(numbersOf(moved), dependences, gathers_ahead, known);
          const auto joined =
              JoinCollectives(llvm::map_to_vector(early, [&](unsigned s) { return steps[s]; }), steps, graph);
          orders.add(joined, TimesInOrder(numbersOf(joined), dependences, costs).seconds);
        };
        for (unsigned gathers_ahead : {2, 4, 8}) {
          if (gathers_ahead == 4) add(gathers_ahead, costs);
          if (gathers_ahead == 4 || has_gathers) add(gathers_ahead, {});
        }
      }
    }
    const llvm::SmallVector<Operation*> best = orders.best();
    if (report) {
      mlir::emitRemark(getOperation().getLoc())
          << "at most " << BytesAlive(steps, arena).first << " bytes alive in the given order, "
          << BytesAlive(best, arena).first << " as ordered";
    }
    ArrangeBody(getOperation(), best);
  }
};

}  // namespace
}  // namespace sinter
