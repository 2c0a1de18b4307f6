// Reports of what callers give to devices, and of copies between devices (pass `lower-to-plan`).
//
//   ReportInputs(function.getBody(), given);    // "gives input "x" of tensor<6x4xf32>, 96 bytes, from ..."
#ifndef SINTER_PASSES_PLAN_INPUT_REPORT_H_
#define SINTER_PASSES_PLAN_INPUT_REPORT_H_

#include "llvm/ADT/ArrayRef.h"
#include "mlir/IR/Block.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

// An input that one more device gets, and the cause that the program records for it.
struct GivenInput {
  plan_ir::InputOp input;
  mlir::Location loc;
  ir::CopyCause cause;
};

// Writes a remark for each of these inputs and, in a program with a mesh, for each input of the function.
// Call it once all readers are known: a device gets only the bytes that they read.
void ReportInputs(mlir::Block* function, llvm::ArrayRef<GivenInput> given);

llvm::StringRef ReasonOfCopy(ir::CopyCause cause);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_INPUT_REPORT_H_
