// Whether two groups should be one kernel, and if not, why not.
//
//   FusionRules rules(graph, costs, /*most_ops=*/256, /*most_buffers=*/4095);
//   std::string why = rules.refuse(a, b);
//   if (why.empty()) graph.merge(a, b);
#ifndef SINTER_PASSES_FUSE_FUSION_RULES_H_
#define SINTER_PASSES_FUSE_FUSION_RULES_H_

#include <string>

#include "llvm/ADT/DenseMap.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/passes/fuse/fusion_graph.h"

namespace sinter {

class FusionRules {
 public:
  // The refusal of groups with something between them.
  static constexpr char kComputedBetween[] =
      "a value between them is computed by another kernel or library call";

  FusionRules(const FusionGraph& graph, ElementCost& costs, size_t most_ops, size_t most_buffers);

  // Why groups `a` and `b` must stay two kernels; empty when they may be one. Legality first (one loop nest,
  // no cycle), then whether it pays: nothing expensive computed several times, no results stored that need loops of their own.
  std::string refuse(unsigned a, unsigned b) const;
  // The groups between `a` and `b`, when those keep the two apart and all of them may be one kernel. Only on a GPU, where a
  // kernel that stores what another one could have used costs more than the other one's arithmetic.
  llvm::SmallVector<unsigned> joinable(unsigned a, unsigned b) const;
  // Why a value cannot pass inside a kernel from node `producer` to node `consumer` at all: one of them is no
  // loop.
  std::string boundary(unsigned producer, unsigned consumer) const;

 private:
  std::string refuseTogether(llvm::ArrayRef<unsigned> groups) const;
  size_t countBuffers(llvm::ArrayRef<unsigned> groups, size_t outputs, size_t few) const;
  std::string refuseNest(const ir::LoopNest& nest, llvm::ArrayRef<mlir::Value> outputs,
                         ir::DeviceKind device) const;
  int64_t costOfReading(mlir::Value value, const ir::LoopNest& nest) const;
  bool overwritesTooEarly(llvm::ArrayRef<unsigned> groups) const;

  const FusionGraph& graph_;
  ElementCost& costs_;
  size_t most_ops_;      // In a kernel, inlined ones not counted.
  size_t most_buffers_;  // Inputs and results of a kernel.
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<mlir::Value, 1>>
      overwritten_;  // Variables, by what updates them.
};

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_FUSION_RULES_H_
