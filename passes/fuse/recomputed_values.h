// Which values every kernel that reads them computes again, in place of storing them for each other.
//
//   llvm::DenseSet<mlir::Operation*> again = FindRecomputed(block, costs);   // FusionGraph copies these into every reader
//
// On a GPU a large value that is stored costs a write, and a read in each kernel that reads it. Computing it again costs
// its arithmetic, and reads of what it is made of. Recomputed are, when they are cheap and have several readers:
//   - a value that no one kernel could hold with all its readers, since a library call is between them or they reduce it
//     along different dimensions, made of no more bytes than it has itself, those included that would have to be stored for
//     it: a normalised x of f32 from x of bf16 and the mean and scale of each row;
//   - a value that goes into reductions in chunks and is read again with their results, as the gradient behind a batch norm is,
//     where that takes no more bytes; what both kernels read anyway costs nothing, so that the mask of a relu may be
//     computed from what was normalised, in place of the relu's result;
//   - a cast from a narrower type, wherever its readers are.
// So is, for its one reader, a mask of 16-bit values that a library call behind it keeps in memory anyway, as the gradient of relu
// has: to read them moves as many bytes as to write and read the mask, which would take memory in between.
#ifndef SINTER_PASSES_FUSE_RECOMPUTED_VALUES_H_
#define SINTER_PASSES_FUSE_RECOMPUTED_VALUES_H_

#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "sinter/passes/element_cost.h"

namespace sinter {

// With each op those that it is computed through, up to what is in memory.
llvm::DenseSet<mlir::Operation*> FindRecomputed(mlir::Block& block, ElementCost& costs);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_RECOMPUTED_VALUES_H_
