// Requests of single ops, which the front end makes where it knows more of an op than the op says.
//
//   ir::RequestGathers(value);     // The op of this value may gather what it reads (Reshards::kExplicit).
//   ir::LeaveUnchecked(value);     // Its indices may be out of range (CompileOptions::check_indices).
#ifndef SINTER_IR_DIALECT_OP_REQUESTS_H_
#define SINTER_IR_DIALECT_OP_REQUESTS_H_

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace sinter::ir {

// On an op: UnitAttr. Its operands may be gathered without an error, because the program asked for what needs
// them: the rows that an update touches, or the scores of a metric.
inline constexpr llvm::StringLiteral kGathersAttr = "sinter.gathers";
// On an op with indices: UnitAttr. An index out of range is meant: it stands for no row.
inline constexpr llvm::StringLiteral kUncheckedAttr = "sinter.unchecked";

// Sets an attribute of the op that computes the value; nothing if it is an argument.
inline void Request(mlir::Value value, llvm::StringRef attribute) {
  if (mlir::Operation* const op = value.getDefiningOp()) {
    op->setAttr(attribute, mlir::UnitAttr::get(op->getContext()));
  }
}
inline void RequestGathers(mlir::Value value) { Request(value, kGathersAttr); }
inline void LeaveUnchecked(mlir::Value value) { Request(value, kUncheckedAttr); }

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_OP_REQUESTS_H_
