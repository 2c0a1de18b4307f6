// ElementBuilder, for FusibleInterface::emitElement: operand elements on demand, and index arithmetic.
//
//   // broadcast: the operand's coordinate i is the result's coordinate dims[i]
//   SmallVector<Value> at; for (int64_t d : getDims()) at.push_back(coords[d]);
//   return e.element(getX(), at);
//
// Codegen implements `element`: it loads from memory, recurses into another fused op, or reads an
// accumulator.
#ifndef SINTER_IR_SCALAR_ELEMENT_BUILDER_H_
#define SINTER_IR_SCALAR_ELEMENT_BUILDER_H_

#include "mlir/IR/AffineMap.h"
#include "sinter/ir/scalar/scalar_builder.h"

namespace sinter::ir {

class ElementBuilder {
 public:
  explicit ElementBuilder(ScalarBuilder& s) : s_(s) {}
  virtual ~ElementBuilder() = default;

  ScalarBuilder& s() { return s_; }

  // The element of `tensor` at `coords` (values of type `index`, in range), in the compute type.
  virtual Scalar element(mlir::Value tensor, mlir::ValueRange coords) = 0;

  // Index arithmetic on values of type `index`, folding constants.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);  // Both are non-negative.
  mlir::Value rem(mlir::Value a, mlir::Value b);  // Both are non-negative.
  mlir::Value min(mlir::Value a, mlir::Value b);  // Signed.
  mlir::Value max(mlir::Value a, mlir::Value b);  // Signed.
  mlir::Value lt(mlir::Value a, mlir::Value b);   // Signed; returns an i1.
  mlir::Value ge(mlir::Value a, mlir::Value b);   // Signed; returns an i1.
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);
  // linearize: the row-major position of `coords` in a tensor of `shape`. delinearize: the inverse.
  mlir::Value linearize(mlir::ValueRange coords, llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value position, llvm::ArrayRef<int64_t> shape);
  // toIndex: an integer scalar as an index. fromIndex: an index as a scalar of the compute type of `element`.
  mlir::Value toIndex(Scalar x);
  Scalar fromIndex(mlir::Value index, mlir::Type element);

 private:
  ScalarBuilder& s_;
};

}  // namespace sinter::ir

#endif  // SINTER_IR_SCALAR_ELEMENT_BUILDER_H_
