#include "sinter/passes/joined_calls.h"

#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

namespace {

// True for results of library calls. Copies and collectives have their own memory.
bool IsComputedByCall(mlir::Value value) {
  return llvm::isa_and_nonnull<ir::LibraryInterface>(value.getDefiningOp());
}

// Limit for a concat in a kernel: each element tests all parts.
constexpr size_t kMostChosenParts = 8;

}  // namespace

bool IsWide(ir::ConcatOp op) {
  return op.getXs().size() > kMostChosenParts && llvm::all_of(op.getXs(), [](mlir::Value part) {
           return ir::NumBytes(part) >= plan_ir::kBucketAlignment;
         });
}

bool IsOneBehindTheOther(ir::ConcatOp op) {
  return llvm::all_of(op.getType().getShape().take_front(op.getDim()),
                      [](int64_t size) { return size == 1; });
}

bool IsWait(mlir::Operation* op) {
  auto concat = llvm::dyn_cast<ir::ConcatOp>(op);
  if (!concat || !IsOneBehindTheOther(concat)) return false;
  if (IsWideJoin(concat)) return true;
  int64_t offset = 0;
  for (mlir::Value part : concat.getXs()) {
    if (!part.hasOneUse() || !IsComputedByCall(part) || offset % plan_ir::kBucketAlignment != 0) return false;
    offset += ir::NumBytes(part);
  }
  return true;
}

}  // namespace sinter
