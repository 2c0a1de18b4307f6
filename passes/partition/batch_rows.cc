#include "sinter/passes/partition/batch_rows.h"

#include "sinter/ir/dialect/factor_rule.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/partition/op_sharding.h"

namespace sinter {

using ir::Extent;
using ir::Sharding;
using mlir::Operation;
using mlir::StringAttr;
using mlir::Value;

BatchRows::BatchRows(mlir::func::FuncOp function, llvm::ArrayRef<mlir::BlockArgument> inputs) {
  for (mlir::BlockArgument input : inputs) {
    const llvm::ArrayRef<int64_t> shape = ir::TypeOf(input).getShape();
    if (ir::TypeOf(input).getNumElements() == 0) continue;
    const unsigned dim = shape.size() > 1 && shape[0] == 1 ? 1 : 0;
    places_[input] = {dim, shape[dim]};
  }
  for (Operation& op : function.getBody().front().without_terminator()) follow(&op);
}

// The examples are a loop of the op. Results that it names first in a dimension have them there.
void BatchRows::follow(Operation* op) {
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return hasRows(operand); })) return;
  const ir::FactorRule rule = ir::FactorsOf(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto found = places_.find(operand);
    if (found == places_.end()) continue;
    const Place place = found->second;
    const auto& factors = rule.operands[i][place.dim];
    if (factors.empty() || rule.factors[factors.front()].size % place.examples != 0) continue;
    for (auto [r, result] : llvm::enumerate(op->getResults())) {
      for (auto [d, named] : llvm::enumerate(rule.results[r])) {
        if (named.empty() || named.front() != factors.front()) continue;
        places_.try_emplace(result, Place{static_cast<unsigned>(d), place.examples});
      }
    }
  }
}

bool BatchRows::cut(Value value, Sharding& sharding, StringAttr axis, ir::MeshAttr mesh) const {
  auto found = places_.find(value);
  if (found == places_.end()) return false;
  const auto [d, examples] = found->second;
  auto& dim = sharding.dims[d];
  Extent& outer = dim.front();
  llvm::SmallVector<StringAttr, 1> axes = outer.axes;
  const int64_t parts = ir::CountParts(mesh, axes), ranks = ir::CountParts(mesh, axis);
  if (examples % (parts * ranks) == 0 && outer.size % (parts * ranks) == 0) {
    outer.axes.push_back(axis);
    return true;
  }
  // The rest of the dimension, such as the tokens of the examples.
  const bool is_rest_whole =
      llvm::all_of(llvm::drop_begin(dim), [](const Extent& extent) { return extent.axes.empty(); });
  const int64_t rest = ir::TypeOf(value).getDimSize(d) / examples;
  if (rest > 1) {
    if (!is_rest_whole || rest % ranks != 0 || examples % parts != 0) return false;
    dim = {Extent{examples, axes}, Extent{rest, {axis}}};
    return true;
  }
  // The last dimension holds the features of a row.
  if (d + 2 >= sharding.dims.size()) return false;
  auto& next = sharding.dims[d + 1];
  if (!IsUncut(next) || next.size() != 1 || next.front().size % ranks != 0) return false;
  next.front().axes = {axis};
  return true;
}

}  // namespace sinter
