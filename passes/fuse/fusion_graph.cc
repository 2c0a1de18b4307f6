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

// Returns the cost of computing `value` if it reads no memory, as a mask of iotas; nullopt if it reads
// memory.
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
  llvm::SmallVector<Operation*> ops;
  for (Operation& op : block) {
    position_[&op] = ops.size();
    ops.push_back(&op);
    if (ShouldInline(&op, costs)) inlined_.insert(&op);
  }
  // An inlined op is also stored if an op that is not fused reads it.
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
  llvm::SmallVector<unsigned> members;
  for (unsigned group : groups) {
    members.append(members_[group]);
    members_[group].clear();
  }
  llvm::sort(members);
  for (unsigned node : members) nodes_[node].group = all;
  members_[all] = std::move(members);
  return all;
}

llvm::SmallVector<Operation*> FusionGraph::opsOf(llvm::ArrayRef<unsigned> groups) const {
  llvm::SmallDenseSet<Operation*, 32> held;
  llvm::SmallVector<Operation*> ops;
  for (unsigned group : groups) {
    for (unsigned member : members_[group]) {
      held.insert(nodes_[member].op);
      ops.push_back(nodes_[member].op);
    }
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    // A view of memory reads the stored result.
    if (auto node = node_of_.find(ops[i]); node != node_of_.end() && nodes_[node->second].is_part) continue;
    for (Value operand : ops[i]->getOperands()) {
      Operation* def = operand.getDefiningOp();
      if (def && inlined_.contains(def) && held.insert(def).second) ops.push_back(def);
    }
  }
  llvm::SmallVector<std::pair<unsigned, Operation*>, 32> placed;
  for (Operation* op : ops) placed.emplace_back(position(op), op);
  llvm::sort(placed);
  for (auto [op, place] : llvm::zip_equal(ops, placed)) op = place.second;
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
