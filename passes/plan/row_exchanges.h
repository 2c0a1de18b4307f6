// RowExchanges: exchanges that may be in parts although each rank then has other rows.
//
//   RowExchanges exchanges(steps, /*count=*/2);
//   for (const RowExchanges::Family& family : exchanges.families()) ...   // All of it in parts, or nothing.
//
// A reduce_scatter gives each rank some rows of a sum. In `count` parts it gives each rank some rows of each
// part: others than before. This changes no result if nothing but computations on single rows, and sums over
// them, follows until an all_gather in as many parts, which makes the rows that the whole one makes. All
// exchanges that are linked by such computations are a family.
#ifndef SINTER_PASSES_PLAN_ROW_EXCHANGES_H_
#define SINTER_PASSES_PLAN_ROW_EXCHANGES_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallVector.h"
#include "sinter/ir/dialect/factor_rule.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

class RowExchanges {
 public:
  using Family = llvm::SmallVector<unsigned>;  // Steps, ascending.

  // The steps of a function, in order.
  RowExchanges(llvm::ArrayRef<mlir::Operation*> steps, int64_t count);

  llvm::ArrayRef<Family> families() const { return families_; }

 private:
  // The dimension of a tensor that has other rows; nullopt if none has.
  using MovedDims = llvm::DenseMap<mlir::Value, int64_t>;

  void visit(unsigned step);
  void visitCall(unsigned step, plan_ir::CallOp call);
  bool follow(mlir::Operation* op, MovedDims& dims) const;
  std::optional<unsigned> movedIn(mlir::Value buffer);
  void forbid(unsigned exchange) { forbidden_.push_back(exchange); }

  llvm::ArrayRef<mlir::Operation*> steps_;
  int64_t count_;
  // Buffers that have other rows: one exchange of the family.
  llvm::DenseMap<mlir::Value, unsigned> moved_;
  llvm::EquivalenceClasses<unsigned> linked_;
  llvm::SmallVector<unsigned> forbidden_;
  llvm::SmallVector<Family> families_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_ROW_EXCHANGES_H_
