// The module's attribute that says in which type matrix products and convolutions run: `sinter.precision = bf16`, or f16.
// f32, or no attribute: as the program is written. The pass `precision-policy` follows it.
//
//   module->setAttr(kPrecisionAttr, mlir::TypeAttr::get(builder.getBF16Type()));
#ifndef SINTER_IR_DIALECT_PRECISION_ATTR_H_
#define SINTER_IR_DIALECT_PRECISION_ATTR_H_

#include "llvm/ADT/StringRef.h"

namespace sinter::ir {

inline constexpr llvm::StringLiteral kPrecisionAttr = "sinter.precision";

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_PRECISION_ATTR_H_
