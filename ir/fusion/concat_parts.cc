#include "sinter/ir/fusion/concat_parts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/fusion/fusion_domain.h"

namespace sinter::ir {

using mlir::Operation;
using mlir::Value;

namespace {

// True if parts of different shapes share no op, so that each can have loops of its own.
bool HaveOwnLoops(mlir::ValueRange parts, llvm::ArrayRef<Operation*> ops) {
  const llvm::DenseSet<Operation*> held(ops.begin(), ops.end());
  const llvm::DenseSet<Value> uniform = UniformValues(ops);
  llvm::DenseMap<Operation*, mlir::Type> part_of;
  for (Value part : parts) {
    llvm::SmallVector<Value> values = {part};
    while (!values.empty()) {
      const Value value = values.pop_back_val();
      Operation* def = value.getDefiningOp();
      if (!def || !held.contains(def) || FollowsFromPosition(def) || uniform.contains(value)) continue;
      const auto [known, is_new] = part_of.try_emplace(def, part.getType());
      if (known->second != part.getType()) return false;
      if (is_new) llvm::append_range(values, def->getOperands());
    }
  }
  return true;
}

}  // namespace

bool IsStoredInParts(Value value, llvm::ArrayRef<Operation*> ops) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || concat.getXs().size() < 2 || !llvm::is_contained(ops, concat.getOperation())) return false;
  return llvm::none_of(value.getUsers(), [&](Operation* user) { return llvm::is_contained(ops, user); }) &&
         HaveOwnLoops(concat.getXs(), ops);
}

}  // namespace sinter::ir
