#include <optional>
#include <set>
#include <vector>

#include "llvm/ADT/DenseSet.h"
#include "sinter/ir/program/collective.h"
#include "sinter/passes/op_prices.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/exchange_order.h"
#include "sinter/passes/plan/live_bytes.h"
#include "sinter/passes/plan/plan_steps.h"
#include "sinter/passes/topological_list.h"

namespace sinter {

#define GEN_PASS_DEF_ORDERCALLS
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Returns one representative for all values of the same memory: a variable's first plan.variable stands for
// the others.
class MemoryKeys {
 public:
  Value of(Value buffer) {
    Value root = Resolve(buffer).root;
    auto variable = root.getDefiningOp<plan_ir::VariableOp>();
    if (!variable) return root;
    return variables_.try_emplace(variable.getVariable(), root).first->second;
  }

 private:
  llvm::DenseMap<llvm::StringRef, Value> variables_;
};

// The order that steps must keep.
class StepGraph {
 public:
  explicit StepGraph(llvm::ArrayRef<Operation*> steps) : before_(steps.size()), after_(steps.size()) {
    MemoryKeys keys;
    llvm::DenseMap<Value, llvm::SmallVector<Access>> writers, readers;
    for (unsigned s = 0; s < steps.size(); ++s) {
      for (Value in : ReadsOf(steps[s])) {
        const Access access(s, in);
        addEdges(writers[keys.of(in)], access);
        readers[keys.of(in)].push_back(access);
      }
      for (Value out : WritesOf(steps[s])) {
        const Access access(s, out);
        addEdges(writers[keys.of(out)], access);
        addEdges(readers[keys.of(out)], access);
        writers[keys.of(out)].push_back(access);
      }
    }
    preferReadersOfOldValues(steps, keys, writers, readers);
  }

  // Orders the exchanges by their channels. Variants of a function, which are ordered one by one, then meet
  // them in the same order.
  void keepExchangesInOrder(llvm::ArrayRef<Operation*> steps) {
    std::map<int64_t, unsigned> by_channel;
    for (unsigned s = 0; s < steps.size(); ++s) {
      if (auto collective = CollectiveOf(steps[s])) by_channel[collective->channel] = s;
    }
    std::optional<unsigned> last;
    for (auto [channel, step] : by_channel) {
      if (last) addEdge(*last, step);
      last = step;
    }
  }

  llvm::ArrayRef<unsigned> before(unsigned step) const { return before_[step]; }
  llvm::ArrayRef<unsigned> after(unsigned step) const { return after_[step]; }

 private:
  // The bytes of a memory that a step accesses; unrelated steps may use different parts of one memory.
  struct Access {
    Access(unsigned s, Value buffer)
        : step(s), begin(Resolve(buffer).offset), end(begin + std::max<int64_t>(BytesOf(buffer), 1)) {}
    unsigned step;
    int64_t begin, end;
  };

  void addEdges(llvm::ArrayRef<Access> from, const Access& to) {
    for (const Access& access : from) {
      if (access.begin < to.end && to.begin < access.end) addEdge(access.step, to.step);
    }
  }

  void addEdge(unsigned from, unsigned to) {
    if (from == to || !edges_.insert({from, to}).second) return;
    after_[from].push_back(to);
    before_[to].push_back(from);
    leads_back_ |= to < from;
  }

  bool reaches(unsigned from, unsigned to) const {
    // Edges lead only to later steps, unless a preference was added.
    if (!leads_back_ && to < from) return false;
    llvm::SmallVector<unsigned> stack = {from};
    llvm::DenseSet<unsigned> seen = {from};
    while (!stack.empty()) {
      unsigned step = stack.pop_back_val();
      if (step == to) return true;
      for (unsigned next : after_[step]) {
        if ((leads_back_ || next <= to) && seen.insert(next).second) stack.push_back(next);
      }
    }
    return false;
  }

  // A new value of a variable should come after the readers of the old value, so that it can be computed in
  // place.
  void preferReadersOfOldValues(llvm::ArrayRef<Operation*> steps, MemoryKeys& keys,
                                llvm::DenseMap<Value, llvm::SmallVector<Access>>& writers,
                                llvm::DenseMap<Value, llvm::SmallVector<Access>>& readers) {
    for (unsigned s = 0; s < steps.size(); ++s) {
      auto copy = llvm::dyn_cast<plan_ir::CopyOp>(steps[s]);
      if (!copy || !Resolve(copy.getTarget()).root.getDefiningOp<plan_ir::VariableOp>()) continue;
      for (const Access& written : writers[keys.of(copy.getSource())]) {
        for (const Access& read : readers[keys.of(copy.getTarget())]) {
          if (read.step < s && !reaches(written.step, read.step)) addEdge(read.step, written.step);
        }
      }
    }
  }

  llvm::DenseSet<std::pair<unsigned, unsigned>> edges_;
  bool leads_back_ = false;  // True if some edge goes to an earlier step.
  llvm::SmallVector<llvm::SmallVector<unsigned>> before_, after_;
};

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

class OrderCallsPass : public impl::OrderCallsBase<OrderCallsPass> {
 public:
  using OrderCallsBase::OrderCallsBase;
  void runOnOperation() override {
    llvm::SmallVector<Operation*> steps = StepsOf(getOperation());
    StepGraph graph(steps);
    if (getOperation().getRanks()) graph.keepExchangesInOrder(steps);
    ArenaUses arena(steps);
    const bool exchanges = ExchangesOnGpus(steps);
    auto before = [&](unsigned step) { return graph.before(step); };
    auto after = [&](unsigned step) { return graph.after(step); };
    const StepDependences dependences = {steps, before, after};
    OpPrices prices;
    Orders orders(arena);
    for (const auto& order : {OrderAsGiven(steps, graph), OrderFreeingEarly(steps, graph, arena),
                              OrderGreedily(steps, graph, arena)}) {
      for (bool late : {false, true}) {
        llvm::SmallVector<Operation*> moved = late ? LateStarts(steps, graph, arena).reorder(order) : order;
        if (!exchanges) {
          orders.add(JoinCollectives(moved, steps, graph), 0);
          continue;
        }
        for (unsigned gathers_ahead : {2, 4, 8}) {
          const auto joined =
              JoinCollectives(OrderForExchanges(moved, dependences, gathers_ahead), steps, graph);
          orders.add(joined, SecondsInOrder(joined, dependences,
                                            [&](Operation* step) { return prices.seconds(step); }));
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
