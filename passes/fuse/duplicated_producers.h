// FindRecomputed: the values that every reading kernel recomputes instead of one kernel storing them.
//
//   llvm::DenseSet<mlir::Operation*> again = FindRecomputed(block, costs);   // FusionGraph inlines these.
//
// On a GPU, storing a large value costs a write, and a read in each kernel that reads it. Recomputing it
// costs arithmetic and reads of its inputs. Recomputed are cheap values with several readers, if they are one
// of:
// - A value that no single kernel can hold with all its readers, because a library call is between them or
//   they reduce it along different dimensions. Its inputs must have no more bytes than the value itself,
//   including inputs that would have to be stored. Example: a normalised x of f32, from x of bf16 and each
//   row's mean and scale.
// - A value between reductions along different dimensions that share no pass: it is computed from the results
//   of one and leads to the other, such as a normalised x whose product with a gradient is summed over the
//   rows. Its inputs are limited as above. Also if it is small, which saves kernels.
// - A value that feeds chunked reductions and is read again with their results, such as the gradient after a
//   batch norm, if that takes no more bytes. Inputs that both kernels read anyway are free, so the mask of a
//   relu may be computed from the normalised values instead of the relu's result.
// - A cast from a narrower type, for any readers.
// A mask of 16-bit values that a later library call keeps in memory anyway is recomputed for a single reader,
// as in the gradient of relu: reading the values moves as many bytes as writing and reading the mask, which
// would also take memory in between.
#ifndef SINTER_PASSES_FUSE_DUPLICATED_PRODUCERS_H_
#define SINTER_PASSES_FUSE_DUPLICATED_PRODUCERS_H_

#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "sinter/passes/element_cost.h"

namespace sinter {

// Includes, for each op, the ops that it is recomputed through, back to values in memory.
llvm::DenseSet<mlir::Operation*> FindRecomputed(mlir::Block& block, ElementCost& costs);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_DUPLICATED_PRODUCERS_H_
