// OpSharding: how the ranks of a mesh share the work of one op.
//
//   OpSharding matmul(op, mesh);                       // Nothing is cut: every rank computes the whole op.
//   if (auto k = matmul.factorAt(0, sharding_of_x, data)) matmul.cut(*k, data);
//   matmul.operand(1)                                  // The part of operand 1 that a rank then reads.
//   matmul.result(0)                                   // The part of the result, or terms, that it has.
#ifndef SINTER_PASSES_PARTITION_OP_SHARDING_H_
#define SINTER_PASSES_PARTITION_OP_SHARDING_H_

#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/factor_rule.h"
#include "sinter/ir/dialect/sharding.h"

namespace sinter {

// True if no axis cuts the dimension.
bool IsUncut(llvm::ArrayRef<ir::Extent> dim);

// Returns the axes of the mesh in an order in which an op can be cut by them: where several axes cut an
// extent of one of the shardings, in the order that they have there, else in the mesh's.
llvm::SmallVector<mlir::StringAttr> AxesInOrder(ir::MeshAttr mesh, llvm::ArrayRef<ir::Sharding> shardings);

class OpSharding {
 public:
  OpSharding(mlir::Operation* op, ir::MeshAttr mesh);
  // Reads how the work is shared from the shardings of the op's operands and results.
  static OpSharding Of(mlir::Operation* op, ir::MeshAttr mesh);

  const ir::FactorRule& rule() const { return rule_; }
  // The axes that cut a factor, outermost first.
  llvm::ArrayRef<mlir::StringAttr> axesOf(unsigned factor) const { return axes_[factor]; }
  bool isCut() const;
  // True if the axis cuts a factor.
  bool worksOn(mlir::StringAttr axis) const;

  // Returns the factor that the axis cuts if the op runs on these parts of the operand; nullopt if no factor
  // of the op has these parts, or if it cannot be cut. Splits a factor that has these parts in its inner
  // iterations.
  std::optional<unsigned> factorAt(unsigned operand, const ir::Sharding& sharding, mlir::StringAttr axis);
  // The same for a result that is to have these parts.
  std::optional<unsigned> factorAtResult(unsigned result, const ir::Sharding& sharding,
                                         mlir::StringAttr axis);
  void cut(unsigned factor, mlir::StringAttr axis) { axes_[factor].push_back(axis); }
  // Lets terms of a sum over the axis pass: these operands and all results are then such terms.
  void pass(llvm::ArrayRef<unsigned> operands, mlir::StringAttr axis);
  bool passesTerms() const { return !passing_.empty(); }
  // The operands that are terms.
  llvm::ArrayRef<unsigned> terms() const { return terms_; }

  // The parts that a rank reads and has, in the fewest extents.
  ir::Sharding operand(unsigned i) const;
  ir::Sharding result(unsigned r) const;

 private:
  ir::Sharding partsOf(mlir::Value value, const ir::ValueFactors& dims) const;
  std::optional<unsigned> factorOf(const ir::ValueFactors& dims, const ir::Sharding& sharding,
                                   mlir::StringAttr axis);
  std::optional<unsigned> factorFrom(llvm::ArrayRef<unsigned> factors, int64_t outer,
                                     const ir::Extent& extent);

  mlir::Operation* op_;
  ir::MeshAttr mesh_;
  ir::FactorRule rule_;
  llvm::SmallVector<llvm::SmallVector<mlir::StringAttr, 1>> axes_;  // By factor.
  // The axes along which terms pass, and the operands that are terms.
  llvm::SmallVector<mlir::StringAttr, 1> passing_;
  llvm::SmallVector<unsigned> terms_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_OP_SHARDING_H_
