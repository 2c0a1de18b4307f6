// CallNames: names of plan calls that are unique, reproducible and tell what a call computes.
//
//   CallNames names;
//   names.nameFusion(fusion);        // "fusion_3_softmax"
//   names.nameLibraryCall(matmul);   // "matmul_4_linear_128"
#ifndef SINTER_PASSES_PLAN_CALL_NAMES_H_
#define SINTER_PASSES_PLAN_CALL_NAMES_H_

#include "mlir/IR/BuiltinAttributes.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

class CallNames {
 public:
  mlir::StringAttr nameFusion(ir::FusionOp fusion);
  mlir::StringAttr nameLibraryCall(mlir::Operation* op);

 private:
  mlir::StringAttr name(mlir::MLIRContext* context, llvm::StringRef kind, llvm::StringRef hint);

  unsigned count_ = 0;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_CALL_NAMES_H_
