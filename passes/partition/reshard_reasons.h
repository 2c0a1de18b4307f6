// ReshardReasons: why a value changes hands (pass `shard`).
//
//   reasons.explain(reshard, reader);                      // Sets kBecauseAttr.
//   if (failed(reasons.checkGather(value, to, reader))) ...
#ifndef SINTER_PASSES_PARTITION_RESHARD_REASONS_H_
#define SINTER_PASSES_PARTITION_RESHARD_REASONS_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"

namespace sinter {

// The reason why an axis cuts a value. Where an op's operands are cut for several, the last of these counts,
// and the other operands are gathered.
enum class CutKind {
  kStored,  // For storage alone (kStoredAttr).
  kRows,    // So that each rank computes some rows, between the ops that work with cut variables.
  kWork,    // The ranks work with parts of variables or inputs.
};

class ReshardReasons {
 public:
  // The parts of a function's values that the ranks have.
  class Parts {
   public:
    virtual ~Parts() = default;
    // Null if it is not known yet.
    virtual const ir::Sharding* find(mlir::Value value) const = 0;
    // The axis must cut the value.
    virtual CutKind kindOf(mlir::Value value, mlir::StringAttr axis) const = 0;
  };

  ReshardReasons(mlir::func::FuncOp function, ir::MeshAttr mesh, const Parts& parts)
      : function_(function), mesh_(mesh), parts_(parts) {}

  // Notes why the value changes hands, with the line of the cause.
  void explain(ir::ReshardOp made, mlir::Operation* reader) const;
  // An error if the reader needs parts of the value that are neither its rank's nor cut for storage or as
  // rows. Outputs are gathered, as are operands of ops with kGathersAttr, and callers have whole inputs.
  mlir::LogicalResult checkGather(mlir::Value value, const ir::Sharding& to, mlir::Operation* reader) const;

 private:
  mlir::Value causeOf(mlir::Value value, mlir::StringAttr axis) const;
  // The locations of the ops from the cause to the value, each once: the last ones alone.
  llvm::SmallVector<mlir::Attribute> wayTo(mlir::Value value, mlir::StringAttr axis) const;
  // Returns the value, an operand from which its op gets parts, and so on; the last is the cause. That is an
  // argument of the function if a way leads to one, because an input or a variable tells users more than an
  // op of the compiler's, such as the broadcast of a constant. Earlier operands go first.
  llvm::SmallVector<mlir::Value> wayBack(mlir::Value value, mlir::StringAttr axis) const;
  std::string nameOf(mlir::Value value) const;
  static std::string nameOf(mlir::Operation* reader);

  mlir::func::FuncOp function_;
  ir::MeshAttr mesh_;
  const Parts& parts_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_RESHARD_REASONS_H_
