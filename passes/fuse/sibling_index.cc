#include "sinter/passes/fuse/sibling_index.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"

namespace sinter {

using ir::ShapeOf;
using mlir::Operation;
using mlir::Value;

namespace {

bool IsNumber(Value value) { return ir::TypeOf(value).getNumElements() == 1; }

// The shape of the group's loop.
llvm::ArrayRef<int64_t> LoopShape(const FusionGraph& graph, unsigned group, llvm::ArrayRef<Operation*> ops) {
  const auto* reduction = llvm::find_if(ops, llvm::IsaPred<ir::ReductionInterface>);
  if (reduction != ops.end()) return ShapeOf((*reduction)->getOperand(0));
  llvm::SmallVector<Value> outputs = graph.outputsOf({group});
  return outputs.empty() ? llvm::ArrayRef<int64_t>() : ShapeOf(outputs.front());
}

// Values that two groups of one loop have in common, unless one reads a result of the other.
llvm::SetVector<Value> CommonValues(const FusionGraph& graph, unsigned group) {
  llvm::SmallVector<Operation*> ops = graph.opsOf({group});
  llvm::DenseSet<Operation*> held(ops.begin(), ops.end());
  llvm::DenseSet<Value> uniform = ir::UniformValues(ops);
  llvm::ArrayRef<int64_t> shape = LoopShape(graph, group, ops);
  llvm::SetVector<Value> values;
  for (Operation* op : ops) {
    for (Value operand : op->getOperands()) {
      Operation* def = operand.getDefiningOp();
      if (!def || !held.contains(def)) {
        if (ShapeOf(operand) == shape) values.insert(operand);
      } else if (graph.isInlined(def) && !ir::FollowsFromPosition(def)) {
        if (!uniform.contains(operand) || IsNumber(op->getResult(0))) values.insert(operand);
      }
    }
  }
  return values;
}

}  // namespace

void SiblingIndex::add(unsigned group) { note(count_++, group); }

void SiblingIndex::merge(unsigned number, unsigned group) { note(number, group); }

void SiblingIndex::note(unsigned number, unsigned group) {
  for (Value value : CommonValues(graph_, group)) {
    llvm::SmallVector<unsigned>& numbers = by_value_[value];
    if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
  }
  for (unsigned member : graph_.members(group)) {
    llvm::SmallVector<unsigned>& numbers = by_node_[member];
    if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
  }
}

llvm::SmallVector<unsigned> SiblingIndex::find(unsigned group) const {
  llvm::SmallVector<unsigned> found;
  auto add = [&](const auto& index, auto key) {
    auto numbers = index.find(key);
    if (numbers != index.end()) llvm::append_range(found, numbers->second);
  };
  for (Value value : CommonValues(graph_, group)) add(by_value_, value);
  for (unsigned member : graph_.members(group)) {
    add(by_node_, member);
    for (unsigned node : graph_.nodes()[member].producers) add(by_node_, node);
    for (unsigned node : graph_.nodes()[member].readers) add(by_node_, node);
  }
  llvm::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace sinter
