// CallParts: how a plan.call is computed in equal parts of its rows, the outermost dimension of its results.
//
//   std::optional<CallParts> parts = CallParts::Of(call, /*count=*/2);   // nullopt: a result needs all rows.
//   for (int64_t k = 0; k < parts->count(); ++k) parts->build(builder, k);
//   call.erase();
//
// A part is a call that reads and writes contiguous bytes of the whole call's buffers, so nothing is copied.
// It computes what the whole call does there: random numbers and counts know their place (ir::BuildOnPart).
// Only parts of a reduce_scatter give each rank other rows than the whole, and those of an all_gather make
// the whole of such rows (row_exchanges.h).
#ifndef SINTER_PASSES_PLAN_CALL_PARTS_H_
#define SINTER_PASSES_PLAN_CALL_PARTS_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

class CallParts {
 public:
  // nullopt if some op of the call works across the parts, if parts are not contiguous or not aligned for
  // libraries, if no kernel can compute a part, or if a result is a variable's new value, which one call
  // writes in place.
  static std::optional<CallParts> Of(plan_ir::CallOp call, int64_t count);

  // The dimension of a tensor whose parts are contiguous; nullopt for a single element.
  static std::optional<int64_t> OutermostDim(mlir::RankedTensorType type);

  int64_t count() const { return count_; }
  // True if a part accesses its part of the operand; false if it reads all of it. By index in the call's
  // operands.
  bool isCut(unsigned operand) const { return is_cut_[operand]; }
  // Builds the k-th part.
  plan_ir::CallOp build(mlir::OpBuilder& builder, int64_t k) const;

 private:
  CallParts(plan_ir::CallOp call, int64_t count) : call_(call), count_(count) {}

  bool findCuts();
  bool cut(mlir::Value tensor, int64_t dim);
  bool follow(mlir::Operation* op);
  bool markOperands();
  bool isLegal() const;
  mlir::Value partOf(mlir::OpBuilder& builder, mlir::Value buffer, int64_t k) const;
  void buildBody(plan_ir::CallOp part, int64_t k) const;

  mutable plan_ir::CallOp call_;  // Its methods are not const.
  int64_t count_;
  llvm::DenseMap<mlir::Value, int64_t> dims_;  // The dimension that is cut; kWhole if none is.
  llvm::DenseMap<mlir::Operation*, unsigned>
      factors_;  // For each op that works on parts: the factor that is cut.
  llvm::SmallVector<bool> is_cut_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_CALL_PARTS_H_
