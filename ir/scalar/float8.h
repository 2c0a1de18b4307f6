// The 8-bit floats f8E4M3FN and f8E5M2 as their bits: one integer code for all targets.
//
//   mlir::Value number = WidenFloat8(builder, loc, bits, element);     // i8 to f32
//   mlir::Value bits = NarrowToFloat8(builder, loc, number, element);  // f32 to i8
//
// The contract is that of runtime/host/float8.h: nearest, ties to even; too large values become NaN in
// f8E4M3FN and infinity in f8E5M2. NaN becomes 0x7f of the same sign.
#ifndef SINTER_IR_SCALAR_FLOAT8_H_
#define SINTER_IR_SCALAR_FLOAT8_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace sinter::ir {

// True for floats of 8 bits, which are stored, moved and cast, and have no arithmetic.
inline bool IsStoredFloat(mlir::Type type) {
  return llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type);
}

mlir::Value WidenFloat8(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value bits, mlir::Type element);
// `by_cast`: by a cast, of targets that have one; else by integer code.
mlir::Value NarrowToFloat8(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value number,
                           mlir::Type element, bool by_cast = false);

}  // namespace sinter::ir

#endif  // SINTER_IR_SCALAR_FLOAT8_H_
