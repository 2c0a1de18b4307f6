#include "sinter/ir/dialect/local_op.h"

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

SmallVector<FactorPart> WholeParts(const FactorRule& rule) {
  return llvm::map_to_vector(rule.factors, [](const Factor& factor) { return FactorPart{factor.size}; });
}

SmallVector<Value> BuildOnPart(mlir::OpBuilder& builder, Operation* op, mlir::ValueRange operands,
                               const FactorRule& rule, ArrayRef<FactorPart> parts) {
  if (auto local = llvm::dyn_cast<LocalFormInterface>(op)) {
    return local.buildLocal(builder, operands, rule, parts);
  }
  return llvm::to_vector_of<Value>(CloneWithLocalTypes(builder, op, operands, rule, parts)->getResults());
}

RankedTensorType LocalType(RankedTensorType type, const ValueFactors& dims, ArrayRef<FactorPart> parts) {
  SmallVector<int64_t> shape;
  for (const auto& dim : dims) {
    int64_t size = 1;
    for (unsigned f : dim) size *= parts[f].size;
    shape.push_back(size);
  }
  return RankedTensorType::get(shape, type.getElementType());
}

Operation* CloneWithLocalTypes(mlir::OpBuilder& builder, Operation* op, mlir::ValueRange operands,
                               const FactorRule& rule, ArrayRef<FactorPart> parts) {
  Operation* clone = builder.clone(*op);
  clone->setOperands(operands);
  for (auto [result, dims] : llvm::zip_equal(clone->getResults(), rule.results)) {
    result.setType(LocalType(TypeOf(result), dims, parts));
  }
  return clone;
}

Value OffsetValue(mlir::OpBuilder& builder, mlir::Location loc, const FactorPart& part) {
  if (auto value = llvm::dyn_cast_if_present<Value>(part.offset)) return value;
  auto attribute =
      llvm::cast_if_present<mlir::IntegerAttr>(llvm::dyn_cast_if_present<mlir::Attribute>(part.offset));
  auto type = RankedTensorType::get({}, builder.getI64Type());
  const int64_t number = attribute ? attribute.getInt() : 0;
  return builder.create<ConstantOp>(loc, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<int64_t>(number)));
}

Value LessOffset(mlir::OpBuilder& builder, mlir::Location loc, Value x, const FactorPart& part) {
  if (part.offset.isNull()) return x;
  GraphBuilder b(builder, loc);
  Expr numbers = b.wrap(x), offset = b.wrap(OffsetValue(builder, loc, part));
  return (numbers - b.splat(b.cast(offset, numbers.element()), numbers)).value;
}

}  // namespace sinter::ir
