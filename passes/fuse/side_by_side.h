// Maps of several shapes that become one kernel, since each alone takes less than its launch: the updates of variables, and casts of
// variables.
//
//   MergeUpdates(graph, function, 4095);     // Last of all merges, as MergeCasts: see FusionGraph::mergeAll
//
// A kernel works on `most_buffers` values at most, inputs and results together, or on one group that has more by itself. What one
// kernel cannot take begins the next.
#ifndef SINTER_PASSES_FUSE_SIDE_BY_SIDE_H_
#define SINTER_PASSES_FUSE_SIDE_BY_SIDE_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/passes/fuse/fusion_graph.h"

namespace sinter {

// Pointwise updates of variables that nothing else reads, whatever their shapes, but for large ones on a GPU whose gradients are
// computed in this program. One kernel a device, or more where updates read one inlined op in loops of several shapes: loops of
// two shapes hold no op in common.
void MergeUpdates(FusionGraph& graph, mlir::func::FuncOp function, size_t most_buffers);

// On a GPU small maps of variables alone, such as a weight's cast to bf16.
void MergeCasts(FusionGraph& graph, mlir::func::FuncOp function, size_t most_buffers);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_SIDE_BY_SIDE_H_
