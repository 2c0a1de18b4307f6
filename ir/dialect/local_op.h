// Builds an op on one part of its factors, with the types of the part (factor_rule.h).
//
//   FactorRule rule = FactorsOf(matmul);
//   SmallVector<FactorPart> parts = WholeParts(rule);
//   parts[k] = {.size = 16, .offset = builder.getI64IntegerAttr(48)};          // k from 48 to 63.
//   SmallVector<Value> results = BuildOnPart(builder, matmul, {part_of_a, part_of_b}, rule, parts);
//
// Results are parts of the op's results, or partial results where they do not name a cut factor. An offset
// may be a value, a number that is known when the program runs: then one program serves all parts of one
// size.
#ifndef SINTER_IR_DIALECT_LOCAL_OP_H_
#define SINTER_IR_DIALECT_LOCAL_OP_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "sinter/ir/dialect/factor_rule.h"

namespace sinter::ir {

// One entry for each factor, none of them cut.
llvm::SmallVector<FactorPart> WholeParts(const FactorRule& rule);

// Builds the op on one part and returns one value for each of its results. `operands` are the parts of the
// operands; `rule` is FactorsOf(op). Every part has at least one iteration of every cut factor. The caller
// gives zeros for operands that count once.
llvm::SmallVector<mlir::Value> BuildOnPart(mlir::OpBuilder& builder, mlir::Operation* op,
                                           mlir::ValueRange operands, const FactorRule& rule,
                                           llvm::ArrayRef<FactorPart> parts);

// Returns the type of a value on one part.
mlir::RankedTensorType LocalType(mlir::RankedTensorType type, const ValueFactors& dims,
                                 llvm::ArrayRef<FactorPart> parts);

// For LocalFormInterface::buildLocal ------------------------------------------------------------------------

// Clones the op with these operands and the part's types. No attribute changes.
mlir::Operation* CloneWithLocalTypes(mlir::OpBuilder& builder, mlir::Operation* op, mlir::ValueRange operands,
                                     const FactorRule& rule, llvm::ArrayRef<FactorPart> parts);
// Returns the factor's offset as a value of type tensor<i64>: 0 if the factor is not cut.
mlir::Value OffsetValue(mlir::OpBuilder& builder, mlir::Location loc, const FactorPart& part);
// Returns integers `x` less a factor's offset.
mlir::Value LessOffset(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value x, const FactorPart& part);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_LOCAL_OP_H_
