// Merges small maps of several shapes into one kernel: updates of variables and casts of variables.
// Each map alone takes less time than its launch.
//
//   MergeUpdates(graph, function, 4095);     // After all other merges: see FusionGraph::mergeAll.
//
// A kernel has at most `most_buffers` inputs and results in total; a single group may exceed the limit.
// Further groups go into the next kernel.
#ifndef SINTER_PASSES_FUSE_SIDE_BY_SIDE_H_
#define SINTER_PASSES_FUSE_SIDE_BY_SIDE_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/passes/fuse/fusion_graph.h"

namespace sinter {

// Merges pointwise updates of variables that nothing else reads, of any shapes; on a GPU not large ones whose
// gradients this program computes. One kernel for each device, or more if updates in loops of several shapes
// read one inlined op: loops of two shapes share no op.
void MergeUpdates(FusionGraph& graph, mlir::func::FuncOp function, size_t most_buffers);

// On a GPU, merges small maps that read only variables, such as a weight's cast to bf16.
void MergeCasts(FusionGraph& graph, mlir::func::FuncOp function, size_t most_buffers);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_SIDE_BY_SIDE_H_
