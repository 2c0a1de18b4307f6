// The module attribute for the type of matmuls and convolutions: `sinter.precision = bf16`, or f16.
// With f32, or without the attribute, they keep the types of the program. The pass `precision-policy` applies
// it.
//
//   module->setAttr(kPrecisionAttr, mlir::TypeAttr::get(builder.getBF16Type()));
#ifndef SINTER_IR_DIALECT_PRECISION_ATTR_H_
#define SINTER_IR_DIALECT_PRECISION_ATTR_H_

#include "llvm/ADT/StringRef.h"

namespace sinter::ir {

inline constexpr llvm::StringLiteral kPrecisionAttr = "sinter.precision";

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_PRECISION_ATTR_H_
