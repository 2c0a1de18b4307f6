#include "sinter/passes/plan/step_graph.h"

#include <algorithm>
#include <map>
#include <optional>

#include "sinter/ir/program/collective.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

// Returns one representative for all values of the same memory: a variable's first plan.variable stands for
// the others.
class StepGraph::MemoryKeys {
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

StepGraph::Access::Access(unsigned s, Value buffer)
    : step(s), begin(Resolve(buffer).offset), end(begin + std::max<int64_t>(BytesOf(buffer), 1)) {}

StepGraph::StepGraph(llvm::ArrayRef<Operation*> steps, bool exchanges_in_order)
    : before_(steps.size()), after_(steps.size()) {
  MemoryKeys keys;
  Accesses writers, readers;
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
  // Preferences come last, because none may contradict an order that must be kept.
  if (exchanges_in_order) keepExchangesInOrder(steps);
  preferReadersOfOldValues(steps, keys, writers, readers);
}

void StepGraph::keepExchangesInOrder(llvm::ArrayRef<Operation*> steps) {
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

void StepGraph::addEdges(llvm::ArrayRef<Access> from, const Access& to) {
  for (const Access& access : from) {
    if (access.begin < to.end && to.begin < access.end) addEdge(access.step, to.step);
  }
}

void StepGraph::addEdge(unsigned from, unsigned to) {
  if (from == to || !edges_.insert({from, to}).second) return;
  after_[from].push_back(to);
  before_[to].push_back(from);
  leads_back_ |= to < from;
}

bool StepGraph::reaches(unsigned from, unsigned to) const {
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

void StepGraph::preferReadersOfOldValues(llvm::ArrayRef<Operation*> steps, MemoryKeys& keys,
                                         Accesses& writers, Accesses& readers) {
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

}  // namespace sinter
