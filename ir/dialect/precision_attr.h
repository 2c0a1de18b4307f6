// The module attribute for the type of matmuls and convolutions: `sinter.precision = bf16`, or f16.
// With f32, or without the attribute, they keep the types of the program. The pass `precision-policy` applies
// it.
//
//   module->setAttr(kPrecisionAttr, mlir::TypeAttr::get(builder.getBF16Type()));
//
// With bf16, `sinter.float8` makes products of linear layers ones of 8-bit floats (pass `float8-products`):
//
//   sinter.float8 = {recipe = "tensorwise", least_features = 256 : i64, logits = false, exclude = ["head"]}
//
// The recipe is the name of an ir::Float8Recipe; the other entries may be absent.
#ifndef SINTER_IR_DIALECT_PRECISION_ATTR_H_
#define SINTER_IR_DIALECT_PRECISION_ATTR_H_

#include "llvm/ADT/StringRef.h"

namespace sinter::ir {

inline constexpr llvm::StringLiteral kPrecisionAttr = "sinter.precision";
inline constexpr llvm::StringLiteral kFloat8Attr = "sinter.float8";

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_PRECISION_ATTR_H_
