#include "sinter/passes/joined_calls.h"

#include "sinter/ir/ops.h"
#include "sinter/ir/plan_ops.h"
#include "sinter/passes/flat_bucket.h"

namespace sinter {

namespace {

// Copies and collectives have memory of their own.
bool IsComputedByCall(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  return op && llvm::isa<ir::LibraryInterface>(op) && !llvm::isa<ir::CopyOp, ir::CloneOp>(op) &&
         !ir::Collective::Of(op);
}

}  // namespace

bool IsJoinOfCalls(mlir::Operation* op) {
  auto concat = llvm::dyn_cast<ir::ConcatOp>(op);
  if (!concat) return false;
  auto type = llvm::cast<mlir::RankedTensorType>(concat.getResult().getType());
  int64_t dim = concat.getDim(), offset = 0;
  if (llvm::any_of(type.getShape().take_front(dim), [](int64_t size) { return size != 1; })) return false;
  for (mlir::Value part : concat.getXs()) {
    if (!part.hasOneUse() || !IsComputedByCall(part) || offset % kBucketAlignment != 0) return false;
    offset += plan_ir::TensorBytes(llvm::cast<mlir::RankedTensorType>(part.getType()));
  }
  return true;
}

}  // namespace sinter
