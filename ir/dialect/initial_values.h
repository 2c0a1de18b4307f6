// Attributes of a sinter.variable that say more of its first value than its initializer does.
//
//   sinter.variable @w : tensor<4xf32> = normal(0.0, 0.5) seed 7
//     {sinter.initial_range = array<f64: -2.0, 2.0>}
//   sinter.variable @v : tensor<2xf32> = constant(0.0, 0.0) seed 7
//     {sinter.initial_values = dense<[1.0, 2.0]> : tensor<2xf32>}
#ifndef SINTER_IR_DIALECT_INITIAL_VALUES_H_
#define SINTER_IR_DIALECT_INITIAL_VALUES_H_

#include "mlir/IR/BuiltinAttributes.h"

namespace sinter::ir {

// With the initializer normal: DenseF64ArrayAttr {low, high}, in deviations from the mean. The normal
// distribution is cut to this range.
inline constexpr llvm::StringLiteral kInitialRangeAttr = "sinter.initial_range";
// With the initializer constant: DenseElementsAttr, all elements, of the whole variable if ranks hold parts
// of it. They replace the constant. A replica of another element type has those of its original.
inline constexpr llvm::StringLiteral kInitialValuesAttr = "sinter.initial_values";

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_INITIAL_VALUES_H_
