// LiveRanges: the live ranges and the offsets of a plan.function's memory.
//
//   LiveRanges plan(function, /*in_place=*/true);
//   llvm::SmallVector<int64_t> arenas = plan.place(/*reuse=*/true);  // Bytes, one arena for each device.
//   LiveRanges::Peak peak = plan.peakOf(device);  // The step, its bytes and live blocks.
//   plan.apply();                                                           // Offsets become attributes.
//
// Memory that two values share orders their steps. On devices that run steps side by side, values share
// memory only if all steps of one come after all steps of the other anyway (passes/plan/value_order.h).
#ifndef SINTER_PASSES_PLAN_LIVE_RANGES_H_
#define SINTER_PASSES_PLAN_LIVE_RANGES_H_

#include "llvm/ADT/DenseMap.h"
#include "sinter/passes/plan/assign_offsets.h"
#include "sinter/passes/plan/plan_steps.h"
#include "sinter/passes/plan/value_order.h"

namespace sinter {

class LiveRanges {
 public:
  // Buffers of the arena that are one piece of memory, because calls update them in place in sequence.
  struct Block {
    llvm::SmallVector<mlir::Value> allocs;  // Empty for the workspace of `call`.
    plan_ir::CallOp call;
    ir::DeviceAttr device;  // The device of the arena.
    MemoryBlock memory;
    bool shared_away = false;              // Merged into another block.
    llvm::SmallVector<int64_t> uses = {};  // The steps that read or write it.
  };
  struct Peak {
    int64_t step = -1;  // The first step with the most bytes; -1 if the function has no steps.
    int64_t bytes = 0;
    llvm::SmallVector<const Block*> alive;
  };

  LiveRanges(plan_ir::FunctionOp function, bool in_place, llvm::ArrayRef<ir::DeviceAttr> side_by_side = {});

  llvm::ArrayRef<mlir::Operation*> steps() const { return steps_; }
  bool runsSideBySide(ir::DeviceAttr device) const { return llvm::is_contained(side_by_side_, device); }
  // Returns the arenas' bytes, in the order of the function's devices.
  llvm::SmallVector<int64_t> place(bool reuse);
  Peak peakOf(ir::DeviceAttr device) const;
  // Returns the bytes of the device's arena that are alive at each step.
  llvm::SmallVector<int64_t> bytesAlive(ir::DeviceAttr device) const;
  llvm::ArrayRef<Block> blocks() const { return blocks_; }
  // Writes the decisions of `place` into the function.
  void apply();

 private:
  void collectBlocks();
  void keepWhileExchanged();
  void shareInPlace();
  void share(plan_ir::CallOp call, int64_t step, int64_t in, int64_t out);
  bool diesByParts(const Block& old_block, const Block& new_block) const;
  // True if the values alone order all uses of the block before `step`, except a use by the step itself.
  bool isDoneBefore(const Block& block, int64_t step) const;

  plan_ir::FunctionOp function_;
  llvm::SmallVector<ir::DeviceAttr> side_by_side_;
  std::optional<ValueOrder> order_;  // Set if a device runs steps side by side.
  llvm::SmallVector<mlir::Operation*> steps_;
  llvm::SmallVector<Block> blocks_;
  llvm::DenseMap<mlir::Value, unsigned> block_of_;  // Keys are allocs.
  llvm::SmallVector<int64_t> arenas_;
};

// Adds a note for the user: the block's bytes and the values that it holds.
void NoteHolder(mlir::InFlightDiagnostic& diagnostic, const LiveRanges::Block& block);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_LIVE_RANGES_H_
