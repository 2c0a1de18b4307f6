#include "sinter/passes/fuse/fusion_rules.h"

#include "llvm/ADT/DenseSet.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/input_parts.h"
#include "sinter/passes/joined_calls.h"

namespace sinter {

using ir::NumElements;
using mlir::Operation;
using mlir::Value;

namespace {

// Recomputing an element up to this cost is cheaper than storing and loading it.
constexpr int64_t kCheapCost = 2;
// Cost that may be repeated for each element that is not stored and loaded.
constexpr int64_t kRepeatedCost = 16;
// Most groups visited in a search for those between two groups.
constexpr size_t kMostBetween = 32;

std::string NameOf(Operation* op) { return op->getName().getStringRef().str(); }

}  // namespace

FusionRules::FusionRules(const FusionGraph& graph, ElementCost& costs, size_t most_ops, size_t most_buffers)
    : graph_(graph), costs_(costs), most_ops_(most_ops), most_buffers_(most_buffers) {
  if (graph.nodes().empty()) return;
  mlir::Block* block = graph.nodes().front().op->getBlock();
  auto function = llvm::dyn_cast<mlir::func::FuncOp>(block->getParentOp());
  if (!function) return;
  llvm::DenseMap<mlir::Attribute, Value> variables;
  for (mlir::BlockArgument argument : block->getArguments()) {
    if (mlir::Attribute name = function.getArgAttr(argument.getArgNumber(), ir::kVariableAttr))
      variables[name] = argument;
  }
  for (mlir::OpOperand& result : block->getTerminator()->getOpOperands()) {
    mlir::Attribute name = function.getResultAttr(result.getOperandNumber(), ir::kVariableAttr);
    Value variable = name ? variables.lookup(name) : Value();
    if (variable && result.get().getDefiningOp())
      overwritten_[result.get().getDefiningOp()].push_back(variable);
  }
}

std::string FusionRules::boundary(unsigned producer, unsigned consumer) const {
  if (graph_.nodes()[consumer].op->hasTrait<mlir::OpTrait::IsTerminator>()) return "";
  for (unsigned node : {producer, consumer}) {
    Operation* op = graph_.nodes()[node].op;
    if (llvm::isa<ir::MoveInterface>(op)) return NameOf(op) + " moves memory";
    if (llvm::isa<ir::StepInterface>(op)) return NameOf(op) + " is a library call";
    if (IsInputPart(op)) return "a part of an input that several devices share is a view of memory";
    if (IsWait(op)) return "the parts of the concat are written where they belong";
    if (llvm::isa<ir::ReshapeOp>(op) && !IsRepeat(op))
      return "a reshape that regroups dimensions is a view of memory";
  }
  return "";
}

std::string FusionRules::refuse(unsigned a, unsigned b) const {
  // Groups only grow, so their sizes tell if they are as they were.
  Answer& last = answers_[{a, b}];
  const std::pair sizes(graph_.members(a).size(), graph_.members(b).size());
  if (last.sizes != sizes) last = {sizes, refuseTogether({a, b})};
  if (!last.why.empty()) return last.why;
  if (graph_.pathAround(a, b) || graph_.pathAround(b, a)) return kComputedBetween;
  if (overwritesTooEarly({a, b})) return "the variable that is updated is still to be read";
  return "";
}

// True if, on a GPU, fusing would move an update of a variable before a reader of its old value, because a
// fused group leads to that reader. The update could then not be in place. One launch for all such updates at
// the end costs less than a copy for each.
bool FusionRules::overwritesTooEarly(llvm::ArrayRef<unsigned> groups) const {
  if (!ir::TargetModel::Of(graph_.deviceOf(groups.front())).launches_cost) return false;
  auto reads_later = [&](unsigned updating, unsigned reader) {
    if (llvm::is_contained(groups, reader) || graph_.leadsTo(updating, reader)) return false;
    return llvm::any_of(groups, [&](unsigned group) { return graph_.leadsTo(group, reader); });
  };
  for (unsigned updating : groups) {
    for (unsigned member : graph_.members(updating)) {
      auto variables = overwritten_.find(graph_.nodes()[member].op);
      if (variables == overwritten_.end()) continue;
      for (Value variable : variables->second) {
        for (unsigned reader : graph_.readers(variable)) {
          if (reads_later(updating, graph_.groupOf(reader))) return true;
        }
      }
    }
  }
  return false;
}

llvm::SmallVector<unsigned> FusionRules::joinable(unsigned a, unsigned b) const {
  if (!ir::TargetModel::Of(graph_.deviceOf(a)).launches_cost) return {};
  // A search for the existence of a path is much faster than one for its groups.
  if (!graph_.pathAround(a, b)) return {};
  llvm::SmallVector<unsigned> between = graph_.between(a, b, kMostBetween), all = {a, b};
  if (between.empty() || llvm::any_of(between, [&](unsigned g) { return !graph_.nodes()[g].fusible; }))
    return {};
  all.append(between);
  if (overwritesTooEarly(all)) return {};
  return refuseTogether(all).empty() ? between : llvm::SmallVector<unsigned>();
}

// All rules except paths through other groups.
std::string FusionRules::refuseTogether(llvm::ArrayRef<unsigned> groups) const {
  size_t size = 0;
  ir::DeviceAttr device;
  for (unsigned group : groups) {
    size += graph_.members(group).size();
    ir::DeviceAttr own = graph_.deviceOf(group);
    if (device && own && own != device)
      return "one runs on " + device.text() + ", the other on " + own.text();
    if (own) device = own;
  }
  if (size > most_ops_) {
    return "the kernel would have " + std::to_string(size) + " ops, more than " + std::to_string(most_ops_);
  }
  llvm::SmallVector<Value> outputs = graph_.outputsOf(groups);
  const ir::TargetModel& target = ir::TargetModel::Of(device);
  const size_t most = std::min<size_t>(most_buffers_, target.most_streams.value_or(most_buffers_));
  if (size_t buffers = countBuffers(groups, outputs.size(), most); buffers > most) {
    return "the kernel would work on " + std::to_string(buffers) + " buffers, more than " +
           std::to_string(most);
  }
  if (isPointwiseLoop(groups)) return "";
  return refuseOps(graph_.opsOf(groups), outputs, target);
}

// True if the groups, each of which reads a result of another, are one loop in which each op computes an
// element of one shape from elements at the same place, and from numbers. Such a loop is always legal.
bool FusionRules::isPointwiseLoop(llvm::ArrayRef<unsigned> groups) const {
  if (groups.size() != 2) return false;
  const Pointwise a = pointwise(groups[0]), b = pointwise(groups[1]);
  return a.holds && b.holds && a.shape == b.shape && readsResultOf(groups[0], groups[1]);
}

// True if one of the groups reads a result of the other, directly.
bool FusionRules::readsResultOf(unsigned a, unsigned b) const {
  for (auto [reader, producer] : {std::pair(a, b), std::pair(b, a)}) {
    for (unsigned member : graph_.members(reader)) {
      const FusionGraph::Node& node = graph_.nodes()[member];
      for (Value operand : node.op->getOperands()) {
        const int of = graph_.nodeOf(operand);
        if (of >= 0 && graph_.groupOf(of) == producer && !graph_.isInlined(operand.getDefiningOp()))
          return true;
      }
    }
  }
  return false;
}

FusionRules::Pointwise FusionRules::pointwise(unsigned group) const {
  Pointwise& known = pointwise_[group];
  // Groups only grow.
  if (known.members == graph_.members(group).size()) return known;
  known.members = graph_.members(group).size();
  known.shape = ir::ShapeOf(graph_.nodes()[group].op->getResult(0));
  known.holds = llvm::all_of(graph_.opsOf({group}), [&](Operation* op) {
    if (op->getNumResults() != 1) return false;
    if (graph_.isInlined(op))
      return llvm::isa<ir::ConstantOp>(op) ||
             (llvm::isa<ir::BroadcastOp>(op) && NumElements(op->getOperand(0)) == 1);
    return llvm::isa<ir::PointwiseInterface>(op) && ir::ShapeOf(op->getResult(0)) == known.shape;
  });
  return known;
}

// Equal layers ask about equal ops: each list of ops is analysed once.
const std::string& FusionRules::refuseOps(llvm::ArrayRef<Operation*> ops, llvm::ArrayRef<Value> outputs,
                                          const ir::TargetModel& target) const {
  llvm::SmallVector<uint64_t> more = {reinterpret_cast<uintptr_t>(&target)};
  for (Operation* op : ops) more.push_back(graph_.isInlined(op));
  auto analyse = [&] {
    std::string why;
    auto domain = ir::AnalyzeFusion(ops, outputs, &why);
    if (mlir::failed(domain)) return why;
    if (!domain->isConnected()) return std::string("they share no loop");
    for (const ir::LoopNest& nest : domain->nests) {
      if (why = refuseNest(nest, target); !why.empty()) break;
    }
    return why;
  };
  return refusals_.of(ops, outputs, analyse, more);
}

// Counts the buffers that a kernel of the groups reads and writes. If a cheap upper bound is at most `few`,
// returns that bound.
size_t FusionRules::countBuffers(llvm::ArrayRef<unsigned> groups, size_t outputs, size_t few) const {
  size_t needs = 0;
  for (unsigned group : groups) {
    for (unsigned member : graph_.members(group)) needs += graph_.nodes()[member].needs.size();
  }
  if (needs + outputs <= few) return needs + outputs;
  llvm::DenseSet<Value> inputs;
  for (unsigned group : groups) {
    for (unsigned member : graph_.members(group)) {
      for (Value need : graph_.nodes()[member].needs) {
        const int producer = graph_.nodeOf(need);
        if (producer < 0 || !llvm::is_contained(groups, graph_.groupOf(producer))) inputs.insert(need);
      }
    }
  }
  return inputs.size() + outputs;
}

std::string FusionRules::refuseNest(const ir::LoopNest& nest, const ir::TargetModel& target) const {
  if (!nest.column_reductions.empty() && !target.sums_columns_of_rows)
    return "one reduces rows, the other columns, which are one pass on a GPU only";
  for (Operation* op : nest.ops) {
    if (graph_.isInlined(op) || llvm::isa<ir::ReductionInterface>(op)) continue;
    Value result = op->getResult(0);
    auto reads = nest.reads.lookup(result);
    int64_t once = nest.column_values.contains(result) ? nest.columns()
                   : nest.isRowInvariant(result)       ? nest.rows()
                                                       : nest.elements();
    int64_t times = once * static_cast<int64_t>(reads.size()), elements = NumElements(result);
    if (times <= elements) continue;
    int64_t cost = costOfReading(result, nest);
    if (cost <= kCheapCost || cost * (times - elements) <= kRepeatedCost * elements) continue;
    return NameOf(op) + " would be read through an index map more than once: " + std::to_string(times) +
           " elements computed instead of " + std::to_string(elements);
  }
  if (!nest.isCutInChunks(target.kind)) return "";
  // A target may store values that depend on no reduction while it computes the chunks.
  bool stores_full = llvm::any_of(nest.stored, [&](Value stored) {
    return NumElements(stored) == nest.elements() &&
           (!target.stores_from_chunks || nest.dependsOnReduction(stored));
  });
  if (!stores_full) return "";
  return std::to_string(nest.elements()) + " elements are reduced to " + std::to_string(nest.rows()) +
         " in chunks, where full results cannot be stored";
}

// The cost of one element of `value`, starting from inputs and results of reductions.
int64_t FusionRules::costOfReading(Value value, const ir::LoopNest& nest) const {
  llvm::DenseSet<Operation*> seen, held(nest.ops.begin(), nest.ops.end());
  llvm::SmallVector<Operation*> stack = {value.getDefiningOp()};
  int64_t cost = 0;
  while (!stack.empty()) {
    Operation* op = stack.pop_back_val();
    if (!held.contains(op) || llvm::isa<ir::ReductionInterface>(op) || !seen.insert(op).second) continue;
    cost += costs_.of(op);
    for (Value operand : op->getOperands()) {
      if (operand.getDefiningOp()) stack.push_back(operand.getDefiningOp());
    }
  }
  return cost;
}

}  // namespace sinter
