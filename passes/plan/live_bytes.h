// The bytes of an arena that are alive while steps run in an order.
//
//   const ArenaUses uses(steps);
//   const auto [peak, total] = BytesAlive(order, uses);
//
//   LiveBytes live(steps, uses);                    // Or step by step, to choose the next one.
//   auto [added, kept] = live.cost(step);
//   live.take(step);
#ifndef SINTER_PASSES_PLAN_LIVE_BYTES_H_
#define SINTER_PASSES_PLAN_LIVE_BYTES_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter {

// A piece of arena memory that a step accesses, and the bytes that it counts for.
struct Held {
  mlir::Value root;
  ir::DeviceAttr device;
  int64_t bytes;
  bool handed_out;
};

// The arena memory that each step accesses, each piece once. Memory that becomes a variable's new value is
// usually computed in the variable (update_in_place.cc) and counts 0 bytes.
class ArenaUses {
 public:
  explicit ArenaUses(llvm::ArrayRef<mlir::Operation*> steps);

  llvm::ArrayRef<Held> of(mlir::Operation* step) const { return held_.find(step)->second; }
  // Returns the number of steps that write (parts of) the memory.
  unsigned writers(mlir::Value root) const { return writers_.lookup(root); }

 private:
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<Held>> held_;
  llvm::DenseMap<mlir::Value, unsigned> writers_;
};

// Counts the live bytes of the arenas, one for each device, while steps are taken in sequence.
class LiveBytes {
 public:
  LiveBytes(llvm::ArrayRef<mlir::Operation*> steps, const ArenaUses& arena);

  // Returns the bytes that `step` adds while it runs, and the bytes that remain after it.
  std::pair<int64_t, int64_t> cost(mlir::Operation* step) const;
  // Returns the memory whose other users now have a different cost.
  llvm::SmallVector<mlir::Value> take(mlir::Operation* step);

  // Sum of the arenas' peaks, in bytes.
  int64_t peak() const;
  // Sum over all steps of the bytes alive on the step's device.
  int64_t total() const { return total_; }

 private:
  struct Arena {
    int64_t now = 0, peak = 0;
  };

  const ArenaUses& arena_;
  llvm::DenseMap<mlir::Value, unsigned> uses_;  // Remaining steps.
  llvm::DenseSet<mlir::Value> live_;
  llvm::SmallMapVector<ir::DeviceAttr, Arena, 4> arenas_;
  int64_t total_ = 0;
};

// Returns the sum of the devices' peaks, and the bytes alive at all steps together.
std::pair<int64_t, int64_t> BytesAlive(llvm::ArrayRef<mlir::Operation*> order, const ArenaUses& arena);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_LIVE_BYTES_H_
