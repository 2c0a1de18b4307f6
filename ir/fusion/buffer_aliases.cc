#include "sinter/ir/fusion/buffer_aliases.h"

#include <string>

#include "llvm/ADT/DenseSet.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"

namespace sinter::ir {

using mlir::Operation;
using mlir::Value;

namespace {

bool IsColumnOutput(const LoopNest& nest, Value output) {
  return nest.column_map && nest.column_values.contains(output);
}

// True if codegen makes one loop of the nest. Codegen adds reductions, then outputs, then column reductions
// to the first loop that shares values with them.
bool IsOneLoop(const LoopNest& nest) {
  llvm::DenseSet<Operation*> held(nest.ops.begin(), nest.ops.end());
  llvm::DenseSet<Value> touched, uniform = UniformValues(nest.ops);
  bool first = true;
  // Adds the values that `value` depends on, up to reductions. Returns false if `value` would start another
  // loop.
  auto join = [&](Value value, bool must_use_reduction) {
    llvm::SmallVector<Value> stack = {value};
    llvm::DenseSet<Value> seen;
    bool touches = first, uses = false;
    while (!stack.empty()) {
      Value at = stack.pop_back_val();
      if (!seen.insert(at).second) continue;
      Operation* def = at.getDefiningOp();
      if (def && held.contains(def) && llvm::isa<ReductionInterface>(def)) {
        uses = true;
        continue;
      }
      const bool connects = TypeOf(at).getNumElements() > 1 ? !uniform.contains(at) : nest.elements() == 1;
      touches |= connects && touched.contains(at);
      if (def && held.contains(def)) stack.append(def->operand_begin(), def->operand_end());
    }
    touched.insert(seen.begin(), seen.end());
    first = false;
    return must_use_reduction ? uses : touches || uses;
  };
  for (Operation* op : nest.reductions) {
    if (!join(op->getOperand(0), false)) return false;
  }
  for (Value stored : nest.stored) {
    if (IsColumnOutput(nest, stored)) continue;
    bool is_row = !nest.reduced.empty() && ShapeOf(stored) != llvm::ArrayRef<int64_t>(nest.shape);
    if (!join(stored, is_row)) return false;
  }
  return llvm::all_of(nest.column_reductions, [&](Operation* op) { return join(op->getOperand(0), false); });
}

// True if only row values depend on `input`, so that each row reads it once, together with the row's outputs.
bool IsReadByRowsOnly(const LoopNest& nest, Value input) {
  llvm::DenseSet<Value> from = {input};
  for (Operation* op : nest.ops) {
    if (llvm::none_of(op->getOperands(), [&](Value operand) { return from.contains(operand); })) continue;
    if (llvm::isa<ReductionInterface>(op) || !nest.isReadOnlyThrough(op->getResult(0), nest.row_map))
      return false;
    from.insert(op->getResult(0));
  }
  return nest.isReadOnlyThrough(input, nest.row_map);
}

}  // namespace

llvm::SmallVector<std::pair<unsigned, unsigned>> BufferAliases(mlir::Block& body) {
  llvm::SmallVector<std::pair<unsigned, unsigned>> pairs;
  std::string why;
  auto domain = AnalyzeFusion(body, &why);
  if (mlir::failed(domain)) return pairs;
  const DeviceKind device = KindOf(DeviceOf(body.getParentOp()));
  for (mlir::BlockArgument input : body.getArguments()) {
    const LoopNest* reader = nullptr;
    bool alone = true;
    for (const LoopNest& nest : domain->nests) {
      if (!nest.reads.contains(input)) continue;
      alone &= reader == nullptr;
      reader = &nest;
    }
    if (!reader || !alone) continue;
    mlir::ValueRange outputs = body.getTerminator()->getOperands();
    bool full = !reader->isCutInChunks(device) && ShapeOf(input) == llvm::ArrayRef<int64_t>(reader->shape) &&
                reader->isReadOnlyThrough(input, reader->full_map);
    // Column values are stored after the pass over the rows, which may read the input too.
    const bool column = reader->column_map && reader->isReadOnlyThrough(input, reader->column_map);
    if (!(full || column || IsReadByRowsOnly(*reader, input)) || !IsOneLoop(*reader)) continue;
    for (auto [output, stored] : llvm::zip_equal(reader->outputs, reader->stored)) {
      // A part of an output has other positions than the input.
      if (stored != outputs[output] || IsColumnOutput(*reader, stored) != column) continue;
      if (ShapeOf(stored) != ShapeOf(input) ||
          ElementBytes(TypeOf(stored).getElementType()) != ElementBytes(TypeOf(input).getElementType()))
        continue;
      pairs.push_back({input.getArgNumber(), output});
    }
  }
  return pairs;
}

}  // namespace sinter::ir
