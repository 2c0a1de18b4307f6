// The types of elements in programs, and the records of runtime/host/dtype.h.
//
//   mlir::Type type = ElementType(DType::kU16, context);    // ui16
//   DType dtype = DTypeOf(type);                             // DType::kU16
//   if (IsComputedFloat(type)) ...                           // f64, f32, bf16, f16
//
// Signed integers and i1 are signless in programs; unsigned ones are ui8 to ui64. A type outside the dialect
// ends the program.
#ifndef SINTER_IR_DIALECT_ELEMENT_TYPES_H_
#define SINTER_IR_DIALECT_ELEMENT_TYPES_H_

#include <optional>

#include "mlir/IR/BuiltinTypes.h"
#include "sinter/ir/scalar/float8.h"
#include "sinter/runtime/host/dtype.h"

namespace sinter::ir {

mlir::Type ElementType(DType dtype, mlir::MLIRContext* context);
// Returns nullopt for a type outside the dialect.
std::optional<DType> FindDType(mlir::Type element);
DType DTypeOf(mlir::Type element);

// True for the floats that have arithmetic, and so gradients.
inline bool IsComputedFloat(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) && !IsStoredFloat(type);
}

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_ELEMENT_TYPES_H_
