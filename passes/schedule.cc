#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan_steps.h"

namespace sinter {

#define GEN_PASS_DEF_SCHEDULE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// One representative of all values of the same memory: a variable's first plan.variable stands for the
// others.
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

// Which step must come before which.
class StepGraph {
 public:
  explicit StepGraph(llvm::ArrayRef<Operation*> steps) : before_(steps.size()), after_(steps.size()) {
    MemoryKeys keys;
    llvm::DenseMap<Value, llvm::SmallVector<unsigned>> writers, readers;
    for (unsigned s = 0; s < steps.size(); ++s) {
      for (Value in : ReadsOf(steps[s])) {
        for (unsigned writer : writers[keys.of(in)]) addEdge(writer, s);
        readers[keys.of(in)].push_back(s);
      }
      for (Value out : WritesOf(steps[s])) {
        for (unsigned writer : writers[keys.of(out)]) addEdge(writer, s);
        for (unsigned reader : readers[keys.of(out)]) addEdge(reader, s);
        writers[keys.of(out)].push_back(s);
      }
    }
    preferReadersOfOldValues(steps, keys, writers, readers);
  }

  llvm::ArrayRef<unsigned> before(unsigned step) const { return before_[step]; }
  llvm::ArrayRef<unsigned> after(unsigned step) const { return after_[step]; }

 private:
  void addEdge(unsigned from, unsigned to) {
    if (from == to || llvm::is_contained(after_[from], to)) return;
    after_[from].push_back(to);
    before_[to].push_back(from);
  }

  bool reaches(unsigned from, unsigned to) const {
    llvm::SmallVector<unsigned> stack = {from};
    llvm::DenseSet<unsigned> seen = {from};
    while (!stack.empty()) {
      unsigned step = stack.pop_back_val();
      if (step == to) return true;
      for (unsigned next : after_[step]) {
        if (seen.insert(next).second) stack.push_back(next);
      }
    }
    return false;
  }

  // A variable's new value is best computed when nobody needs the old one any more: then it is computed in
  // place.
  void preferReadersOfOldValues(llvm::ArrayRef<Operation*> steps, MemoryKeys& keys,
                                llvm::DenseMap<Value, llvm::SmallVector<unsigned>>& writers,
                                llvm::DenseMap<Value, llvm::SmallVector<unsigned>>& readers) {
    for (unsigned s = 0; s < steps.size(); ++s) {
      auto copy = llvm::dyn_cast<plan_ir::CopyOp>(steps[s]);
      if (!copy || !Resolve(copy.getTarget()).root.getDefiningOp<plan_ir::VariableOp>()) continue;
      for (unsigned producer : writers[keys.of(copy.getSource())]) {
        for (unsigned reader : readers[keys.of(copy.getTarget())]) {
          if (reader < s && !reaches(producer, reader)) addEdge(reader, producer);
        }
      }
    }
  }

  llvm::SmallVector<llvm::SmallVector<unsigned>> before_, after_;
};

// Counts arena bytes while steps are taken one by one.
class LiveBytes {
 public:
  explicit LiveBytes(llvm::ArrayRef<Operation*> steps) {
    for (Operation* step : steps) {
      for (Value root : allocsOf(step)) ++uses_[root];
    }
  }

  // What taking `step` next adds while it runs, and what is left of that after it.
  std::pair<int64_t, int64_t> cost(Operation* step) const {
    int64_t added = 0, freed = 0;
    if (auto call = llvm::dyn_cast<plan_ir::CallOp>(step)) added = freed = call.getWorkspaceBytes();
    for (Value root : allocsOf(step)) {
      if (!live_.contains(root)) added += BytesOf(root);
      if (uses_.lookup(root) == 1 && !IsHandedOut(root)) freed += BytesOf(root);
    }
    return {added, added - freed};
  }

  void take(Operation* step) {
    auto [added, kept] = cost(step);
    peak_ = std::max(peak_, now_ + added);
    now_ += kept;
    for (Value root : allocsOf(step)) {
      live_.insert(root);
      --uses_[root];
    }
  }

  int64_t peak() const { return peak_; }

 private:
  static llvm::SmallVector<Value> allocsOf(Operation* step) {
    llvm::SmallVector<Value> roots;
    for (Value buffer : step->getOperands()) {
      Value root = Resolve(buffer).root;
      if (root.getDefiningOp<plan_ir::AllocOp>() && !llvm::is_contained(roots, root)) roots.push_back(root);
    }
    return roots;
  }

  llvm::DenseMap<Value, unsigned> uses_;  // Steps still to come.
  llvm::DenseSet<Value> live_;
  int64_t now_ = 0, peak_ = 0;
};

llvm::SmallVector<Operation*> OrderGreedily(llvm::ArrayRef<Operation*> steps, const StepGraph& graph) {
  LiveBytes live(steps);
  llvm::SmallVector<unsigned> waiting, ready;
  for (unsigned s = 0; s < steps.size(); ++s) {
    waiting.push_back(graph.before(s).size());
    if (waiting[s] == 0) ready.push_back(s);
  }
  llvm::SmallVector<Operation*> order;
  while (!ready.empty()) {
    auto best = ready.begin();
    auto score = [&](unsigned s) {
      auto [added, kept] = live.cost(steps[s]);
      return std::make_tuple(kept, added, s);
    };
    for (auto it = ready.begin() + 1; it != ready.end(); ++it) {
      if (score(*it) < score(*best)) best = it;
    }
    unsigned step = *best;
    ready.erase(best);
    live.take(steps[step]);
    order.push_back(steps[step]);
    for (unsigned next : graph.after(step)) {
      if (--waiting[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

// The given order, moved only as far as the preferences ask.
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

// A collective's member in its group: the call says where it is.
int64_t RankOf(Operation* member) {
  ir::Collective collective = *CollectiveOf(member);
  return llvm::find(collective.group, ir::DeviceOf(member)) - collective.group.begin();
}

// Moves steps that free nothing to just before the first that needs them.
llvm::SmallVector<Operation*> StartLate(llvm::ArrayRef<Operation*> order, llvm::ArrayRef<Operation*> steps,
                                        const StepGraph& graph) {
  llvm::DenseMap<Operation*, unsigned> number;
  for (auto [s, step] : llvm::enumerate(steps)) number[step] = s;
  llvm::DenseSet<Value> read_later;
  llvm::SmallVector<Operation*> late;  // Last first.
  for (Operation* step : llvm::reverse(order)) {
    bool frees = false;
    for (Value in : ReadsOf(step)) {
      Value root = Resolve(in).root;
      bool last = read_later.insert(root).second;
      frees |= last && root.getDefiningOp<plan_ir::AllocOp>() && !IsHandedOut(root);
    }
    auto at = late.end();
    if (!frees) {
      llvm::ArrayRef<unsigned> after = graph.after(number[step]);
      while (at != late.begin() && !llvm::is_contained(after, number[*(at - 1)])) --at;
      // Nothing needs it: it stays where it is.
      if (at == late.begin()) at = late.end();
    }
    late.insert(at, step);
  }
  std::reverse(late.begin(), late.end());
  return late;
}

// The same order, but for the members of a collective, which come together, in the order of their group, where the last of
// them was. What has to come before one of them comes before all.
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

int64_t PeakOf(llvm::ArrayRef<Operation*> order) {
  LiveBytes live(order);
  for (Operation* step : order) live.take(step);
  return live.peak();
}

class SchedulePass : public impl::ScheduleBase<SchedulePass> {
 public:
  using ScheduleBase::ScheduleBase;
  void runOnOperation() override {
    llvm::SmallVector<Operation*> steps = StepsOf(getOperation());
    StepGraph graph(steps);
    // The first of the best, so that the given order is kept where others are no better.
    llvm::SmallVector<Operation*> given = OrderAsGiven(steps, graph), greedy = OrderGreedily(steps, graph);
    llvm::SmallVector<Operation*> best = JoinCollectives(given, steps, graph);
    for (const auto& order : {StartLate(given, steps, graph), greedy, StartLate(greedy, steps, graph)}) {
      llvm::SmallVector<Operation*> joined = JoinCollectives(order, steps, graph);
      if (PeakOf(joined) < PeakOf(best)) best = joined;
    }
    if (report) {
      mlir::emitRemark(getOperation().getLoc())
          << "at most " << PeakOf(steps) << " bytes alive in the given order, " << PeakOf(best)
          << " as scheduled";
    }
    ArrangeBody(getOperation(), best);
  }
};

}  // namespace
}  // namespace sinter
