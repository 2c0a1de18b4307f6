#include "sinter/passes/fusion_graph.h"

#include "sinter/ir/fusion_domain.h"
#include "sinter/ir/ops.h"
#include "sinter/passes/input_parts.h"
#include "sinter/passes/joined_calls.h"
#include "sinter/passes/recomputed_values.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// Copying an index map that costs more than this into every reader is not free.
constexpr int64_t kInlinedCost = 2;
// Computing this much costs less than reading the result from memory.
constexpr int64_t kUnstoredCost = 6;

// A number that only products read, as their scale, would be a kernel of its own in every run.
bool IsStoredConstant(Operation* op) {
  auto constant = llvm::dyn_cast<ir::ConstantOp>(op);
  if (!constant) return false;
  const bool is_scale = constant.getType().getRank() == 0 && !op->use_empty() &&
                        llvm::all_of(op->getUsers(), llvm::IsaPred<ir::MatmulOp>);
  return is_scale || !llvm::isa<mlir::SplatElementsAttr>(constant.getValue());
}

// What computing `value` costs when it reads no memory, as a mask of iotas does; nullopt when it reads some.
std::optional<int64_t> CostWithoutMemory(Value value, ElementCost& costs) {
  Operation* op = value.getDefiningOp();
  if (!op || !IsLoop(op) || llvm::isa<ir::ReductionInterface>(op)) return std::nullopt;
  int64_t cost = costs.of(op);
  for (Value operand : op->getOperands()) {
    auto more = CostWithoutMemory(operand, costs);
    if (!more || (cost += *more) > kUnstoredCost) return std::nullopt;
  }
  return cost;
}

bool ShouldInline(Operation* op, ElementCost& costs) {
  if (!IsLoop(op) || llvm::isa<ir::ReductionInterface>(op)) return false;
  if (llvm::isa<ir::PointwiseInterface>(op)) return CostWithoutMemory(op->getResult(0), costs).has_value();
  auto fusible = llvm::cast<ir::FusibleInterface>(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!fusible.getOperandMap(i)) return false;
  }
  return op->getNumOperands() <= 1 && costs.of(op) <= kInlinedCost;
}

}  // namespace

bool IsLoop(Operation* op) {
  if (IsStoredConstant(op) || IsInputPart(op) || IsJoinOfCalls(op)) return false;
  if (llvm::isa<ir::ReshapeOp>(op)) return ir::IsUnitReshape(op) || IsRepeat(op);
  return llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(op);
}

bool IsRepeat(Operation* op) {
  auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op);
  return reshape && reshape.getX().getDefiningOp<ir::BroadcastOp>() && !ir::IsUnitReshape(op) &&
         ir::KindOf(ir::DeviceOf(op)) == ir::DeviceKind::gpu &&
         llvm::all_of(op->getUsers(), [](Operation* user) {
           return llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(user) &&
                  !llvm::isa<ir::ReshapeOp>(user);
         });
}

FusionGraph::FusionGraph(mlir::Block& block, ElementCost& costs) : inlined_(FindRecomputed(block, costs)) {
  llvm::SmallVector<Operation*> ops;
  for (Operation& op : block) {
    position_[&op] = ops.size();
    ops.push_back(&op);
    if (ShouldInline(&op, costs)) inlined_.insert(&op);
  }
  // An inlined op is stored as well when an op that is not fused reads it.
  llvm::DenseSet<Operation*> stored;
  for (Operation* op : llvm::reverse(ops)) {
    bool copies = IsLoop(op) && !(stored.contains(op) && llvm::isa<ir::ReshapeOp>(op));
    if (copies) continue;
    for (Value operand : op->getOperands()) {
      if (operand.getDefiningOp() && inlined_.contains(operand.getDefiningOp()))
        stored.insert(operand.getDefiningOp());
    }
  }
  for (Operation* op : ops) {
    if (inlined_.contains(op) && !stored.contains(op)) continue;
    unsigned index = nodes_.size();
    bool fusible = IsLoop(op) && (!llvm::isa<ir::ReshapeOp>(op) || IsRepeat(op));
    Node node{op, fusible, IsInputPart(op) || IsJoinOfCalls(op), {}, index};
    if (fusible) {
      collectNeeds(op, node.needs);
    } else {
      node.needs.assign(op->operand_begin(), op->operand_end());
    }
    for (Value need : node.needs) {
      auto& readers = readers_[need];
      if (readers.empty() || readers.back() != index) readers.push_back(index);
    }
    node_of_[op] = index;
    nodes_.push_back(std::move(node));
    members_.push_back({index});
  }
  llvm::DenseMap<int64_t, unsigned> first_of;
  for (unsigned n = 0; n < nodes_.size(); ++n) {
    auto collective = ir::Collective::Of(nodes_[n].op);
    if (!collective) continue;
    auto [first, is_new] = first_of.try_emplace(collective->channel, n);
    if (!is_new) merge(first->second, n);
  }
}

void FusionGraph::collectNeeds(Operation* op, llvm::SmallVectorImpl<Value>& needs) const {
  for (Value operand : op->getOperands()) {
    Operation* def = operand.getDefiningOp();
    if (def && inlined_.contains(def)) {
      collectNeeds(def, needs);
    } else if (!llvm::is_contained(needs, operand)) {
      needs.push_back(operand);
    }
  }
}

int FusionGraph::nodeOf(Value value) const {
  auto it = node_of_.find(value.getDefiningOp());
  return it == node_of_.end() ? -1 : static_cast<int>(it->second);
}

llvm::SmallVector<unsigned> FusionGraph::groups() const {
  llvm::SmallVector<unsigned> groups;
  for (unsigned n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].group == n) groups.push_back(n);
  }
  return groups;
}

llvm::ArrayRef<unsigned> FusionGraph::readers(Value value) const {
  auto it = readers_.find(value);
  if (it == readers_.end()) return {};
  return it->second;
}

unsigned FusionGraph::lastLeadingTo(unsigned group) const {
  unsigned last = members_[group].back();
  for (unsigned n = 0; n <= last; ++n) last = std::max(last, members_[nodes_[n].group].back());
  return last;
}

bool FusionGraph::hasPath(unsigned a, unsigned b, bool around) const {
  const unsigned last = lastLeadingTo(b);
  llvm::SmallVector<unsigned> stack = {a};
  llvm::DenseSet<unsigned> seen = {a};
  while (!stack.empty()) {
    unsigned group = stack.pop_back_val();
    for (unsigned member : members_[group]) {
      for (Value result : nodes_[member].op->getResults()) {
        for (unsigned reader : readers(result)) {
          unsigned next = nodes_[reader].group;
          if (next == b) {
            if (group != a || !around) return true;
            continue;
          }
          if (members_[next].front() > last || !seen.insert(next).second) continue;
          stack.push_back(next);
        }
      }
    }
  }
  return false;
}

llvm::SmallVector<unsigned> FusionGraph::between(unsigned a, unsigned b, size_t most) const {
  const unsigned last = lastLeadingTo(b);
  llvm::DenseMap<unsigned, bool> leads;  // Whether a group leads to `b`.
  llvm::SmallVector<unsigned> path;
  // Recursion is as deep as `most` at the deepest.
  auto visit = [&](auto& self, unsigned group) -> bool {
    auto [known, is_new] = leads.try_emplace(group, group == b);
    if (!is_new || group == b || leads.size() > most) return known->second;
    bool found = false;
    for (unsigned member : members_[group]) {
      for (Value result : nodes_[member].op->getResults()) {
        for (unsigned reader : readers(result)) {
          unsigned next = nodes_[reader].group;
          if (next != group && members_[next].front() <= last) found |= self(self, next);
        }
      }
    }
    if (found && group != a) path.push_back(group);
    return leads[group] = found;
  };
  visit(visit, a);
  if (leads.size() > most) path.clear();
  return path;
}

unsigned FusionGraph::merge(unsigned a, unsigned b) {
  if (b < a) std::swap(a, b);
  llvm::SmallVector<unsigned> all;
  std::merge(members_[a].begin(), members_[a].end(), members_[b].begin(), members_[b].end(),
             std::back_inserter(all));
  for (unsigned node : members_[b]) nodes_[node].group = a;
  members_[b].clear();
  members_[a] = std::move(all);
  return a;
}

llvm::SmallVector<Operation*> FusionGraph::opsOf(llvm::ArrayRef<unsigned> groups) const {
  llvm::DenseSet<Operation*> held;
  llvm::SmallVector<Operation*> ops;
  for (unsigned group : groups) {
    for (unsigned member : members_[group]) {
      held.insert(nodes_[member].op);
      ops.push_back(nodes_[member].op);
    }
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    for (Value operand : ops[i]->getOperands()) {
      Operation* def = operand.getDefiningOp();
      if (def && inlined_.contains(def) && held.insert(def).second) ops.push_back(def);
    }
  }
  llvm::sort(ops, [&](Operation* x, Operation* y) { return position(x) < position(y); });
  return ops;
}

llvm::SmallVector<Value> FusionGraph::outputsOf(llvm::ArrayRef<unsigned> groups) const {
  llvm::SmallVector<unsigned> all;
  for (unsigned group : groups) all.append(members_[group]);
  llvm::sort(all);
  llvm::SmallVector<Value> outputs;
  for (unsigned member : all) {
    for (Value result : nodes_[member].op->getResults()) {
      bool read_outside = llvm::any_of(readers(result), [&](unsigned reader) {
        return !llvm::is_contained(groups, nodes_[reader].group);
      });
      if (read_outside) outputs.push_back(result);
    }
  }
  return outputs;
}

}  // namespace sinter
