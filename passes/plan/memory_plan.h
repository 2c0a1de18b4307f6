// Which bytes of a plan.function's arenas are alive at which steps, and where they lie.
//
//   MemoryPlan plan(function, /*in_place=*/true);
//   llvm::SmallVector<int64_t> arenas = plan.place(/*reuse=*/true);         // One a device of the function
//   MemoryPlan::Peak peak = plan.peakOf(device);                            // The step, its bytes, who holds them
//   plan.apply();                                                           // Offsets become attributes
//
// Memory that two values share orders their steps. A plan that is given devices which run steps side by side lets values share
// memory there only if all steps of one come after all of the other anyway (passes/plan/value_order.h).
#ifndef SINTER_PASSES_PLAN_MEMORY_PLAN_H_
#define SINTER_PASSES_PLAN_MEMORY_PLAN_H_

#include "llvm/ADT/DenseMap.h"
#include "sinter/passes/plan/place_blocks.h"
#include "sinter/passes/plan/plan_steps.h"
#include "sinter/passes/plan/value_order.h"

namespace sinter {

class MemoryPlan {
 public:
  // Buffers of the arena that are one piece of memory, because calls update them in place one after the other.
  struct Block {
    llvm::SmallVector<mlir::Value> allocs;  // Empty for the workspace of `call`.
    plan_ir::CallOp call;
    ir::DeviceAttr device;  // In whose arena it is.
    MemoryBlock memory;
    bool shared_away = false;              // Merged into another block.
    llvm::SmallVector<int64_t> uses = {};  // The steps that read or write it.
  };
  struct Peak {
    int64_t step = -1;  // The first with the most bytes; -1: the function has no steps.
    int64_t bytes = 0;
    llvm::SmallVector<const Block*> alive;
  };

  MemoryPlan(plan_ir::FunctionOp function, bool in_place, llvm::ArrayRef<ir::DeviceAttr> side_by_side = {});

  llvm::ArrayRef<mlir::Operation*> steps() const { return steps_; }
  bool runsSideBySide(ir::DeviceAttr device) const { return llvm::is_contained(side_by_side_, device); }
  // Returns the arenas' bytes, in the order of the function's devices.
  llvm::SmallVector<int64_t> place(bool reuse);
  Peak peakOf(ir::DeviceAttr device) const;
  // Writes what `place` decided into the function.
  void apply();

 private:
  void collectBlocks();
  void keepWhileExchanged();
  void shareInPlace();
  void share(plan_ir::CallOp call, int64_t step, int64_t in, int64_t out);
  // Whether all uses of the block but one by the step itself come before it, by their values.
  bool isDoneBefore(const Block& block, int64_t step) const;

  plan_ir::FunctionOp function_;
  llvm::SmallVector<ir::DeviceAttr> side_by_side_;
  std::optional<ValueOrder> order_;  // Where a device runs steps side by side.
  llvm::SmallVector<mlir::Operation*> steps_;
  llvm::SmallVector<Block> blocks_;
  llvm::DenseMap<mlir::Value, unsigned> block_of_;  // Of allocs.
  llvm::SmallVector<int64_t> arenas_;
};

// A line for the user: what of the block's memory holds what.
void NoteHolder(mlir::InFlightDiagnostic& diagnostic, const MemoryPlan::Block& block);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_MEMORY_PLAN_H_
