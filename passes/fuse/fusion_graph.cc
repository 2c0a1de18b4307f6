#include "sinter/passes/fuse/fusion_graph.h"

#include <map>

#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/program/collective.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/fuse/duplicated_producers.h"
#include "sinter/passes/input_parts.h"
#include "sinter/passes/joined_calls.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// Largest cost of an index map that is copied into every reader.
constexpr int64_t kInlinedCost = 2;
// Computing up to this cost is cheaper than reading the result from memory.
constexpr int64_t kUnstoredCost = 6;

// True for constants stored in the plan. A scale that only matmuls read would otherwise need a kernel in
// every run.
bool IsStoredConstant(Operation* op) {
  auto constant = llvm::dyn_cast<ir::ConstantOp>(op);
  if (!constant) return false;
  const bool is_scale = constant.getType().getRank() == 0 && !op->use_empty() &&
                        llvm::all_of(op->getUsers(), llvm::IsaPred<ir::MatmulOp>);
  return is_scale || !llvm::isa<mlir::SplatElementsAttr>(constant.getValue());
}

// Finds the ops that every reader copies.
class Inlining {
 public:
  explicit Inlining(ElementCost& costs) : costs_(costs) {}

  // Ops come in program order.
  bool isInlined(Operation* op);

 private:
  // Notes the cost of an element of the op if computing it reads no memory, as for a mask of iotas.
  void note(Operation* op);

  ElementCost& costs_;
  llvm::DenseMap<Operation*, int64_t> cost_without_memory_;
};

void Inlining::note(Operation* op) {
  int64_t cost = 0;
  for (Value operand : op->getOperands()) {
    Operation* def = operand.getDefiningOp();
    auto known = def ? cost_without_memory_.find(def) : cost_without_memory_.end();
    if (known == cost_without_memory_.end() || (cost += known->second) > kUnstoredCost) return;
  }
  cost += costs_.of(op);
  if (op->getNumOperands() == 0 || cost <= kUnstoredCost) cost_without_memory_[op] = cost;
}

bool Inlining::isInlined(Operation* op) {
  if (!IsLoop(op) || llvm::isa<ir::ReductionInterface>(op)) return false;
  note(op);
  if (llvm::isa<ir::PointwiseInterface>(op)) return cost_without_memory_.contains(op);
  auto fusible = llvm::cast<ir::FusibleInterface>(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!fusible.getOperandMap(i)) return false;
  }
  return op->getNumOperands() <= 1 && costs_.of(op) <= kInlinedCost;
}

}  // namespace

bool IsLoop(Operation* op) {
  if (IsStoredConstant(op) || IsInputPart(op) || IsWait(op)) return false;
  if (llvm::isa<ir::ReshapeOp>(op)) return ir::IsUnitReshape(op) || IsRepeat(op);
  return llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(op);
}

bool IsRepeat(Operation* op) {
  auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op);
  return reshape && reshape.getX().getDefiningOp<ir::BroadcastOp>() && !ir::IsUnitReshape(op) &&
         ir::TargetModel::Of(op).recomputes_cheap_values && llvm::all_of(op->getUsers(), [](Operation* user) {
           return llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(user) &&
                  !llvm::isa<ir::ReshapeOp>(user);
         });
}

FusionGraph::FusionGraph(mlir::Block& block, ElementCost& costs) : inlined_(FindRecomputed(block, costs)) {
  Inlining inlining(costs);
  for (Operation& op : block) {
    position_[&op] = ops_.size();
    ops_.push_back(&op);
    if (inlining.isInlined(&op)) inlined_.insert(&op);
  }
  // An inlined op is also stored if an op that is not fused reads it.
  llvm::DenseSet<Operation*> stored;
  for (Operation* op : llvm::reverse(ops_)) {
    bool copies = IsLoop(op) && !(stored.contains(op) && llvm::isa<ir::ReshapeOp>(op));
    if (copies) continue;
    for (Value operand : op->getOperands()) {
      if (operand.getDefiningOp() && inlined_.contains(operand.getDefiningOp()))
        stored.insert(operand.getDefiningOp());
    }
  }
  nodes_.reserve(ops_.size());
  for (Operation* op : ops_) {
    if (inlined_.contains(op) && !stored.contains(op)) continue;
    unsigned index = nodes_.size();
    bool fusible = IsLoop(op) && (!llvm::isa<ir::ReshapeOp>(op) || IsRepeat(op));
    Node node{op, fusible, IsInputPart(op) || IsWait(op), {}, {}, {}, index};
    if (fusible) {
      llvm::SetVector<Value> needs;
      collectNeeds(op, needs);
      node.needs.assign(needs.begin(), needs.end());
    } else {
      node.needs.assign(op->operand_begin(), op->operand_end());
    }
    for (Value need : node.needs) {
      auto& readers = readers_[need];
      if (readers.empty() || readers.back() != index) readers.push_back(index);
    }
    node_of_[op] = index;
    kernel_ops_.push_back(positionsWithCopies(node));
    nodes_.push_back(std::move(node));
    members_.push_back({index});
  }
  connectNodes();
  if (block.getParentOp()->hasAttr(ir::kRanksAttr)) keepExchangesInOrder();
  order_.emplace(nodes_.size());
  seen_.resize(nodes_.size(), 0);
  mergeCollectives();
}

void FusionGraph::collectNeeds(Operation* op, llvm::SetVector<Value>& needs) const {
  for (Value operand : op->getOperands()) {
    Operation* def = operand.getDefiningOp();
    if (def && inlined_.contains(def)) {
      collectNeeds(def, needs);
    } else {
      needs.insert(operand);
    }
  }
}

// Returns the positions of the node's op and of the inlined ops that its kernel holds a copy of, ascending.
FusionGraph::PositionList FusionGraph::positionsWithCopies(const Node& node) const {
  llvm::SmallVector<Operation*> ops = {node.op};
  // A view of memory reads the stored result.
  for (size_t i = 0; i < ops.size() && !node.is_part; ++i) {
    for (Value operand : ops[i]->getOperands()) {
      Operation* def = operand.getDefiningOp();
      if (def && inlined_.contains(def) && !llvm::is_contained(ops, def)) ops.push_back(def);
    }
  }
  PositionList positions;
  for (Operation* op : ops) positions.push_back(position(op));
  llvm::sort(positions);
  return positions;
}

void FusionGraph::connectNodes() {
  for (unsigned n = 0; n < nodes_.size(); ++n) {
    for (Value need : nodes_[n].needs) {
      if (int producer = nodeOf(need); producer >= 0) nodes_[n].producers.push_back(producer);
    }
    llvm::SmallVector<unsigned>& producers = nodes_[n].producers;
    llvm::sort(producers);
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    for (unsigned producer : producers) nodes_[producer].readers.push_back(n);
  }
}

void FusionGraph::keepExchangesInOrder() {
  std::map<int64_t, unsigned> by_channel;
  for (unsigned n = 0; n < nodes_.size(); ++n) {
    if (auto collective = ir::Collective::Of(nodes_[n].op)) by_channel[collective->channel] = n;
  }
  std::optional<unsigned> last;
  has_exchange_order_ = true;
  for (auto [channel, n] : by_channel) {
    // A program in another order is refused when its steps are ordered.
    if (last && *last < n && !llvm::is_contained(nodes_[n].producers, *last)) {
      nodes_[n].producers.insert(llvm::lower_bound(nodes_[n].producers, *last), *last);
      nodes_[*last].readers.insert(llvm::lower_bound(nodes_[*last].readers, n), n);
    }
    last = n;
  }
}

void FusionGraph::mergeCollectives() {
  llvm::DenseMap<int64_t, unsigned> first_of;
  for (unsigned n = 0; n < nodes_.size(); ++n) {
    auto collective = ir::Collective::Of(nodes_[n].op);
    if (!collective) continue;
    auto [first, is_new] = first_of.try_emplace(collective->channel, n);
    if (!is_new) merge(first->second, n);
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

llvm::SmallVector<unsigned> FusionGraph::fusibleReaders(Value value) const {
  llvm::SmallVector<unsigned> found(readers(value));
  llvm::erase_if(found, [&](unsigned reader) { return !nodes_[reader].fusible; });
  return found;
}

// Searches from both ends in turn, so the time depends on the end with the smaller neighbourhood.
FusionGraph::Search FusionGraph::search(unsigned a, unsigned b, bool around) const {
  const unsigned from_start = 2 * ++searches_, from_end = from_start + 1;
  seen_[a] = from_start;
  seen_[b] = from_end;
  llvm::SmallVector<unsigned> followers, leaders;
  size_t followed = 0, led = 0;  // Numbers of followers and leaders that were expanded.
  // True if the two searches have met. A direct edge from `a` to `b` is not a path around.
  auto see = [&](unsigned group, unsigned next, bool forward) {
    const unsigned own = forward ? from_start : from_end, other = forward ? from_end : from_start;
    if (seen_[next] == own) return false;
    const bool is_end = next == (forward ? b : a);
    if (is_end && around && group == (forward ? a : b)) return false;
    if (seen_[next] == other) return true;
    if (forward ? !isBefore(next, b) : !isBefore(a, next)) return false;
    seen_[next] = own;
    (forward ? followers : leaders).push_back(next);
    return false;
  };
  auto lookBehind = [&](unsigned group, bool forward) {
    return llvm::any_of(members_[group], [&](unsigned member) {
      return llvm::any_of(forward ? nodes_[member].readers : nodes_[member].producers,
                          [&](unsigned node) { return see(group, nodes_[node].group, forward); });
    });
  };
  if (lookBehind(a, true)) return {true};
  if (followers.empty()) return {false, true};
  if (lookBehind(b, false)) return {true};
  while (true) {
    if (followed == followers.size()) return {false, true, followers};
    if (led == leaders.size()) return {false, false, leaders};
    if (lookBehind(followers[followed++], true) || lookBehind(leaders[led++], false)) return {true};
  }
}

llvm::SmallVector<unsigned> FusionGraph::between(unsigned a, unsigned b, size_t most) const {
  llvm::DenseMap<unsigned, bool> leads;  // True if the group leads to `b`.
  llvm::SmallVector<unsigned> path;
  // The recursion depth is at most `most`.
  auto visit = [&](auto& self, unsigned group) -> bool {
    auto [known, is_new] = leads.try_emplace(group, group == b);
    if (!is_new || group == b || leads.size() > most) return known->second;
    bool found = false;
    for (unsigned member : members_[group]) {
      for (unsigned reader : nodes_[member].readers) {
        unsigned next = nodes_[reader].group;
        if (next != group && (next == b || isBefore(next, b))) found |= self(self, next);
      }
    }
    if (found && group != a) path.push_back(group);
    return leads[group] = found;
  };
  visit(visit, a);
  if (leads.size() > most) path.clear();
  std::reverse(path.begin(), path.end());
  return path;
}

unsigned FusionGraph::merge(unsigned a, unsigned b) {
  if (b < a) std::swap(a, b);
  mergeInOrder(a, b);
  llvm::SmallVector<unsigned> all;
  std::merge(members_[a].begin(), members_[a].end(), members_[b].begin(), members_[b].end(),
             std::back_inserter(all));
  for (unsigned node : members_[b]) nodes_[node].group = a;
  members_[b].clear();
  members_[a] = std::move(all);
  kernel_ops_[a] = positionsOf({a, b});
  kernel_ops_[b].clear();
  return a;
}

// Gives the group merged from `a` and `b`, under the number of `a`, a position in the order.
void FusionGraph::mergeInOrder(unsigned a, unsigned b) {
  if (!order_) return;
  const auto [first, last] = order_->isBefore(a, b) ? std::pair(a, b) : std::pair(b, a);
  Search between = search(first, last, /*around=*/true);
  // A value flows from one through another group to the other, as between collectives that wait for each
  // other. Other code must refuse such a program.
  if (between.found) return order_.reset();
  llvm::sort(between.seen, [&](unsigned x, unsigned y) { return order_->isBefore(x, y); });
  if (between.followed) {
    order_->moveBehind(last, between.seen);
  } else {
    order_->moveBefore(first, between.seen);
  }
  order_->remove(between.followed ? first : last);
  order_->replace(between.followed ? last : first, a);
}

unsigned FusionGraph::mergeAll(llvm::ArrayRef<unsigned> groups) {
  order_.reset();
  const unsigned all = *llvm::min_element(groups);
  PositionList positions = positionsOf(groups);
  llvm::SmallVector<unsigned> members;
  for (unsigned group : groups) {
    members.append(members_[group]);
    members_[group].clear();
    kernel_ops_[group].clear();
  }
  kernel_ops_[all] = std::move(positions);
  llvm::sort(members);
  for (unsigned node : members) nodes_[node].group = all;
  members_[all] = std::move(members);
  return all;
}

llvm::SmallVector<Operation*> FusionGraph::opsOf(llvm::ArrayRef<unsigned> groups) const {
  llvm::SmallVector<Operation*> ops;
  auto append = [&](llvm::ArrayRef<unsigned> positions) {
    for (unsigned position : positions) ops.push_back(ops_[position]);
  };
  if (groups.size() == 1) {
    append(kernel_ops_[groups[0]]);
  } else {
    append(positionsOf(groups));
  }
  return ops;
}

// Returns the positions of the ops of one kernel of these groups, ascending.
FusionGraph::PositionList FusionGraph::positionsOf(llvm::ArrayRef<unsigned> groups) const {
  PositionList all;
  if (groups.size() == 2) {
    const PositionList &a = kernel_ops_[groups[0]], &b = kernel_ops_[groups[1]];
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
    return all;
  }
  for (unsigned group : groups) all.append(kernel_ops_[group]);
  llvm::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Returns the readers of the result, which are the node's for its only result.
llvm::ArrayRef<unsigned> FusionGraph::readersOfResult(const Node& node, Value result) const {
  return node.op->getNumResults() == 1 && !has_exchange_order_ ? llvm::ArrayRef<unsigned>(node.readers)
                                                               : readers(result);
}

llvm::SmallVector<Value> FusionGraph::outputsOf(llvm::ArrayRef<unsigned> groups) const {
  llvm::SmallVector<unsigned> all;
  if (groups.size() == 2) {
    std::merge(members_[groups[0]].begin(), members_[groups[0]].end(), members_[groups[1]].begin(),
               members_[groups[1]].end(), std::back_inserter(all));
  } else {
    for (unsigned group : groups) all.append(members_[group]);
    llvm::sort(all);
  }
  llvm::SmallVector<Value> outputs;
  for (unsigned member : all) {
    for (Value result : nodes_[member].op->getResults()) {
      bool read_outside = llvm::any_of(readersOfResult(nodes_[member], result), [&](unsigned reader) {
        return !llvm::is_contained(groups, nodes_[reader].group);
      });
      if (read_outside) outputs.push_back(result);
    }
  }
  return outputs;
}

}  // namespace sinter
